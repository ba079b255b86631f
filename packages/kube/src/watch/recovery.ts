import type { KubeError, KubeReason } from "../errors.ts";

/** How an attempt ended: a list, or a watch from its opening to its end. */
export interface Ending {
  /** Absent when the server closed the watch cleanly. */
  readonly error?: KubeError;
  /** How long the watch was open; 0 for a list or a watch that did not open. */
  readonly livedMs: number;
  /** Consecutive failed attempts before this one. */
  readonly failures: number;
}

export interface Recovery {
  /** Whether a watch may continue from the last version; otherwise a new list is needed. */
  readonly keepVersion: boolean;
  readonly waitMs: number;
  readonly failures: number;
}

/** A watch that lasted this long was healthy, so its end is not a failure. This also limits how often watches reconnect. */
export const healthyAfterMs = 5_000;
/** 0.25, 0.5, 1, 2 ... s: short enough for a restart of the server, and no load during a long outage. */
const firstWaitMs = 250;
const longestWaitMs = 30_000;
/** For a server that accepts watches and closes them at once: between attempts the cache is stale. */
const longestWaitAfterCloseMs = 5_000;
/** Longer `Retry-After` values are ignored: one response must not leave a cache stale for hours. */
const longestRetryAfterMs = 60_000;

/** Failures after which the version is still valid: the server was not reached or did not process the request. */
const versionStillGood: ReadonlySet<KubeReason> = new Set([
  "Unreachable",
  "Interrupted",
  "TooManyRequests",
  "ServiceUnavailable",
]);

/** Decides how to continue after an attempt. `random` in [0, 1) spreads clients that fail at the same time. */
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
