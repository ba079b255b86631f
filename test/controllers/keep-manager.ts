import { ManagerProcess } from "./manager-process.ts";
import type { StormWorld } from "./storm-world.ts";

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Restarts the manager whenever it ends, like a cluster. */
export async function keepManager(world: StormWorld, flags: readonly string[], stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await using manager = new ManagerProcess(world.kubeconfig, flags);
    await Promise.race([manager.exited, untilAborted(stop)]);
  }
}
