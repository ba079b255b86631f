/** The delay before a container restarts, computed as the kubelet does. */
export interface Backoff {
  readonly delayMs: number;
  /** When the run that caused this delay ended. */
  readonly since: number;
}

export interface BackoffPolicy {
  readonly firstMs: number;
  readonly longestMs: number;
  /** The delay is reset when a run ends this long after the previous run ended. */
  readonly forgetAfterMs: number;
}

export const kubeletBackoff: BackoffPolicy = { firstMs: 10_000, longestMs: 300_000, forgetAfterMs: 600_000 };

/** The first restart is immediate; with the kubelet's policy the next ones wait 10 s, 20 s, 40 s, up to 5 min. */
export function nextBackoff(previous: Backoff | undefined, finishedAt: number, policy: BackoffPolicy): Backoff {
  if (previous === undefined || finishedAt - previous.since > policy.forgetAfterMs) {
    return { delayMs: 0, since: finishedAt };
  }
  const delayMs = previous.delayMs === 0 ? policy.firstMs : Math.min(policy.longestMs, previous.delayMs * 2);
  return { delayMs, since: finishedAt };
}

const firstRetryMs = 1000;
/** Errors other than failed pulls are usually fixed by a person, who should not wait minutes for the retry. */
const longestRetryMs = 20_000;

/** The delay before a failed start is retried: 1 s, 2 s, 4 s, up to 20 s, or up to the policy's limit for image pulls. */
export function retryDelayMs({ tries, reason }: { tries: number; reason: string }, policy: BackoffPolicy): number {
  const longest = reason === "ErrImagePull" ? policy.longestMs : Math.min(policy.longestMs, longestRetryMs);
  return Math.min(longest, firstRetryMs * 2 ** Math.min(tries - 1, 20));
}
