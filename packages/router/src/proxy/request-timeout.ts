import { RouterError } from "../router-error.ts";

/** Any number of digits is read in one go: a caller chooses how many there are. */
const decimal = /^\s*(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/**
 * How long a request may stand still: what the caller asks for in seconds, as far as it is less than the router allows.
 * What is no positive number counts as not asked.
 */
export function requestTimeoutMs(asked: string | undefined, mostMs: number): number {
  if (asked === undefined || !decimal.test(asked)) return mostMs;
  const askedMs = Number(asked) * 1000;
  return Number.isFinite(askedMs) && askedMs > 0 ? Math.min(Math.max(1, askedMs), mostMs) : mostMs;
}

export function timedOut(name: string): RouterError {
  return new RouterError("Timeout", `Timed out waiting for the backend sandbox: ${name}`);
}
