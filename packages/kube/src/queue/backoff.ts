export interface Backoff {
  /** Default 5. */
  readonly firstMs?: number;
  /** Default 1,000,000. */
  readonly longestMs?: number;
}

/** The delay after a number of consecutive failures. It doubles from `firstMs` to `longestMs`. */
export function backoffMs(failures: number, { firstMs = 5, longestMs = 1_000_000 }: Backoff = {}): number {
  return Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
}
