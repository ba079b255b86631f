import { RouterError } from "../router-error.ts";

/** Linear in the length of the text, which the client chooses. */
const decimal = /^\s*(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/**
 * How long a request may make no progress: the seconds that the client asks for, but at most `maxMs`. A value that is not
 * a positive number is ignored.
 */
export function requestTimeoutMs(asked: string | undefined, maxMs: number): number {
  if (asked === undefined || !decimal.test(asked)) return maxMs;
  const askedMs = Number(asked) * 1000;
  return Number.isFinite(askedMs) && askedMs > 0 ? Math.min(Math.max(1, askedMs), maxMs) : maxMs;
}

export function timedOut(name: string): RouterError {
  return new RouterError("Timeout", `Timed out waiting for the backend sandbox: ${name}`);
}
