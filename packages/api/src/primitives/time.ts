/** A point in time with nanosecond resolution. `epochMs` is rounded down to the millisecond. */
export interface Instant {
  readonly epochMs: number;
  readonly epochNanos: bigint;
}

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

// A time with nanoseconds and an offset has 35 characters.
const maxLength = 64;

/** Parses RFC 3339 as Kubernetes does: upper-case T and Z, no leap second, digits after the nanoseconds are cut off. */
export function parseTime(text: string): Instant | { error: string } {
  const match = text.length <= maxLength ? rfc3339.exec(text) : null;
  const [, base = "", fraction = "", sign, hours, minutes] = match ?? [];
  const baseMs = Date.parse(`${base}Z`);
  // Date.parse accepts 30 February and 24:00 and returns the next day, so compare the result with the input.
  if (Number.isNaN(baseMs) || new Date(baseMs).toISOString().slice(0, 19) !== base) {
    return { error: `Cannot read time "${text.slice(0, maxLength)}": want RFC 3339, such as 2026-01-31T15:04:05Z` };
  }
  const offsetMs = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000 * (sign === "-" ? -1 : 1);
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  const epochNanos = BigInt(baseMs - offsetMs) * 1_000_000n + nanos;
  return { epochMs: baseMs - offsetMs + Number(nanos / 1_000_000n), epochNanos };
}

/** -1, 0 or 1 if `a` is before, equal to or after `b`; undefined if either is not a valid time. */
export function compareTimes(a: string, b: string): -1 | 0 | 1 | undefined {
  const [first, second] = [parseTime(a), parseTime(b)];
  if ("error" in first || "error" in second) return undefined;
  if (first.epochNanos === second.epochNanos) return 0;
  return first.epochNanos < second.epochNanos ? -1 : 1;
}

/** `metav1.Time`: whole seconds, rounded down. */
export function formatTime(epochMs: number): string {
  return `${new Date(Math.floor(epochMs)).toISOString().slice(0, 19)}Z`;
}

/** `metav1.MicroTime`: always six digits. A fraction of a millisecond in `epochMs` is kept. */
export function formatMicroTime(epochMs: number): string {
  const wholeMs = Math.floor(epochMs);
  const micros = Math.floor((epochMs - wholeMs) * 1000);
  return `${new Date(wholeMs).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
}
