import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { takeLock } from "./socket-lock.ts";

const patienceMs = 2000;

/** One node per data folder. */
export async function lockInstance(layout: Layout): Promise<AsyncDisposable> {
  const lock = await takeLock(`node-${layout.id}`, patienceMs);
  if (lock !== undefined) return lock;
  throw new NodeError("NodeSetup", `Cannot use data folder "${layout.dataDir}": another process runs its node`);
}
