import type { KubeError, KubeReason } from "../errors.ts";

/** How one attempt (a list, or a watch from its opening to its end) ended. */
export interface Ending {
  /** Absent when the server closed the watch cleanly. */
  readonly error?: KubeError;
  /** How long the watch was open; 0 for a list, or a watch that never opened. */
  readonly livedMs: number;
  /** Attempts that ended badly one after another before this one. */
  readonly failures: number;
}

export interface Recovery {
  /** Whether a watch may go on from the last version seen; otherwise everything is listed anew. */
  readonly keepVersion: boolean;
  readonly waitMs: number;
  readonly failures: number;
}

/** A watch that lived this long was healthy: its end says nothing about the next one. Also the pace of healthy reconnects. */
export const healthyAfterMs = 5_000;
/** 0.25, 0.5, 1, 2 ... s: a restart of the server is over in a few seconds, an outage is not hammered. */
const firstWaitMs = 250;
const longestWaitMs = 30_000;
/** A server that answers but closes at once still deserves a look every few seconds: between looks we see nothing. */
const longestWaitAfterCloseMs = 5_000;
/** A `Retry-After` beyond this would leave a controller blind at the word of one answer. */
const longestRetryAfterMs = 60_000;

/** Failures that say nothing against the version: the server was not reached, or turned us away unread. */
const versionStillGood: ReadonlySet<KubeReason> = new Set([
  "Unreachable",
  "Interrupted",
  "TooManyRequests",
  "ServiceUnavailable",
]);

/** What to do after an attempt has ended. `random` is in [0, 1) and spreads clients that fail together. */
export function recover(ending: Ending, random: number): Recovery {
  const { error, livedMs } = ending;
  const healthy = livedMs >= healthyAfterMs;
  const keepVersion = error === undefined || versionStillGood.has(error.reason);
  const isExpiry = error?.reason === "Gone" || error?.reason === "Expired";
  if (healthy && (error === undefined || isExpiry)) return { keepVersion, waitMs: 0, failures: 0 };

  const failures = (healthy ? 0 : ending.failures) + 1;
  const ceiling = error === undefined ? longestWaitAfterCloseMs : longestWaitMs;
  const backoffMs = Math.min(ceiling, firstWaitMs * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
  const askedMs = Math.min(error?.retryAfterMs ?? 0, longestRetryAfterMs);
  return { keepVersion, waitMs: Math.max(backoffMs, askedMs * (1 + random / 4)), failures };
}
