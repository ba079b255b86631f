/** The wait before a container starts again, as the kubelet counts it. */
export interface Backoff {
  readonly delayMs: number;
  /** The end of the run that brought this wait about. */
  readonly since: number;
}

export const firstDelayMs = 10_000;
export const longestDelayMs = 300_000;
const forgetAfterMs = 600_000;

/**
 * The first restart follows at once, later ones wait 10 s, 20 s, 40 s and so on up to 5 min. A run that ends more than
 * 10 min after the last one did counts as the first.
 */
export function nextBackoff(previous: Backoff | undefined, finishedAt: number): Backoff {
  if (previous === undefined || finishedAt - previous.since > forgetAfterMs) return { delayMs: 0, since: finishedAt };
  const delayMs = previous.delayMs === 0 ? firstDelayMs : Math.min(longestDelayMs, previous.delayMs * 2);
  return { delayMs, since: finishedAt };
}
