/** The wait before a container starts again, as the kubelet counts it. */
export interface Backoff {
  readonly delayMs: number;
  /** The end of the run that brought this wait about. */
  readonly since: number;
}

export interface BackoffPolicy {
  readonly firstMs: number;
  readonly longestMs: number;
  /** A run that ends so long after the last one did counts as the first. */
  readonly forgetAfterMs: number;
}

export const kubeletBackoff: BackoffPolicy = { firstMs: 10_000, longestMs: 300_000, forgetAfterMs: 600_000 };

/** The first restart follows at once, later ones wait 10 s, 20 s, 40 s and so on up to 5 min. */
export function nextBackoff(previous: Backoff | undefined, finishedAt: number, policy: BackoffPolicy): Backoff {
  if (previous === undefined || finishedAt - previous.since > policy.forgetAfterMs) {
    return { delayMs: 0, since: finishedAt };
  }
  const delayMs = previous.delayMs === 0 ? policy.firstMs : Math.min(policy.longestMs, previous.delayMs * 2);
  return { delayMs, since: finishedAt };
}

const firstRetryMs = 1000;
/** What is missing on this machine or in the API is put right by a person, who then does not want to wait. */
const longestRetryMs = 20_000;

/** The wait before a start that failed is tried again: a second, two, four. A registry is spared for longer. */
export function retryDelayMs({ tries, reason }: { tries: number; reason: string }, policy: BackoffPolicy): number {
  const longest = reason === "ErrImagePull" ? policy.longestMs : Math.min(policy.longestMs, longestRetryMs);
  return Math.min(longest, firstRetryMs * 2 ** Math.min(tries - 1, 20));
}
