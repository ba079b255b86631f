/** Where the server reads the time, in milliseconds since 1970. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Kubernetes timestamps have a resolution of one second. */
export function timestamp(atMs: number): string {
  const second = Math.floor(atMs / 1000);
  if (second !== last.second) last = { second, text: `${new Date(atMs).toISOString().slice(0, 19)}Z` };
  return last.text;
}

/** A busy server asks for the same second a thousand times. */
let last = { second: Number.NaN, text: "" };
