import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";

const patienceMs = 60_000;

/** Polls until there is a result. Fails after a minute, with the state that `explain` returns. */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  explain: () => Promise<string> | string = () => "nothing",
): Promise<T> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`Gave up after a minute: ${await explain()}`);
    await sleep(100);
  }
}

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

export function hasEnded(pod: Pod): boolean {
  return ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
}
