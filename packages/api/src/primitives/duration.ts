const unitNanos: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  // The micro sign and the Greek letter mu.
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

/** More than any sensible duration has. It bounds the size of the numbers. */
const longestText = 40;

/** Parses a duration in the format of Go's `time.ParseDuration`, such as `300ms`, `-1.5h` or `1h15m30s`. */
export function parseDurationNanos(text: string): bigint | undefined {
  const [, sign = "", parts = ""] =
    /^([-+]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text.slice(0, longestText + 1)) ?? [];
  if (parts === "" || text.length > longestText) return undefined;
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of parts.matchAll(/(\d*)\.?(\d*)([a-zµμ]+)/g)) {
    const size = unitNanos.get(unit) ?? 0n;
    nanos += BigInt(whole || "0") * size + (BigInt(fraction || "0") * size) / 10n ** BigInt(fraction.length);
  }
  return sign === "-" ? -nanos : nanos;
}

/** As `parseDurationNanos`, in milliseconds. */
export function parseDurationMs(text: string): number | undefined {
  const nanos = parseDurationNanos(text);
  return nanos === undefined ? undefined : Number(nanos) / 1e6;
}
