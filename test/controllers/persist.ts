import { setTimeout as sleep } from "node:timers/promises";
import { isReason, type KubeReason } from "@agent-sandbox/kube";

/** While an API server restarts. */
const unanswered: readonly KubeReason[] = [
  "Unreachable",
  "Interrupted",
  "ServiceUnavailable",
  "InternalError",
  "Timeout",
];

/**
 * Repeats a request until the API server answers or the signal aborts. `done` are the answers to a repetition of a request that was
 * carried out before.
 */
export async function persist(
  request: () => Promise<unknown>,
  { done = [], signal }: { readonly done?: readonly KubeReason[]; readonly signal?: AbortSignal } = {},
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    if (signal?.aborted === true) return;
    try {
      await request();
      return;
    } catch (error) {
      if (!isFirst && isReason(error, ...done)) return;
      if (!isReason(error, ...unanswered)) throw error;
    }
    await sleep(100, undefined, { signal }).catch(() => undefined);
  }
}
