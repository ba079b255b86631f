/** The most requests in one batch. */
export const mostAtOnce = 64;

export interface Pace {
  readonly signal?: AbortSignal;
  /** Called before each batch: the most requests it may have. Default: `mostAtOnce`. */
  readonly atOnce?: () => number;
}

export interface Started {
  readonly succeeded: number;
  readonly error?: unknown;
}

/**
 * Calls `start` for each index in batches of 1, 2, 4 and so on; the calls of a batch run in parallel. Stops after the first
 * batch with an error: a server that refuses one of a thousand creates would refuse the rest. Never throws.
 */
export async function slowStart(
  count: number,
  start: (index: number) => Promise<unknown>,
  { signal, atOnce = () => mostAtOnce }: Pace = {},
): Promise<Started> {
  let succeeded = 0;
  let error: unknown;
  for (
    let from = 0, size = 1;
    from < count && error === undefined;
    from += size, size = Math.max(1, Math.min(size * 2, atOnce()))
  ) {
    if (signal?.aborted) return { succeeded, error: signal.reason };
    const indexes = Array.from({ length: Math.min(size, count - from) }, (_, offset) => from + offset);
    const results = await Promise.allSettled(indexes.map(start));
    succeeded += results.filter(({ status }) => status === "fulfilled").length;
    error = results.find((result) => result.status === "rejected")?.reason;
  }
  return { succeeded, ...(error === undefined ? {} : { error }) };
}
