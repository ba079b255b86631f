import { lastActivityAnnotation, parseTime, type Sandbox } from "@agent-sandbox/api";

/** The shortest time after which a Sandbox without activity is suspended or deleted; undefined when it never is. */
export function idleWindowMs({ spec }: Sandbox): number | undefined {
  const { suspendAfterSeconds, deleteAfterSeconds } = spec.idlePolicy ?? {};
  const seconds = Math.min(
    suspendAfterSeconds ?? Number.POSITIVE_INFINITY,
    deleteAfterSeconds ?? Number.POSITIVE_INFINITY,
  );
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** When activity was last written down, by whomever; undefined when never. */
export function writtenActivityMs({ metadata }: Sandbox): number | undefined {
  const written = parseTime(metadata.annotations?.[lastActivityAnnotation] ?? "");
  return "error" in written ? undefined : written.epochMs;
}

export interface ActivitySeen {
  /** When there was last any, to this router's knowledge. */
  readonly lastMs: number;
  /** When this router last wrote it down; the cache may not know yet. */
  readonly writtenMs: number | undefined;
}

export type WriteDecision =
  | { readonly write: true }
  /** Nothing to write before that time, whatever happens. */
  | { readonly write: false; readonly lookAgainMs: number };

/**
 * Activity is written at most once in a quarter of the idle window, by all routers together: three quarters are left for
 * the next write to arrive. Without an idle policy nobody reads it, and it is not written.
 */
export function decideWrite(sandbox: Sandbox, seen: ActivitySeen, now: number): WriteDecision | undefined {
  const windowMs = idleWindowMs(sandbox);
  if (windowMs === undefined) return undefined;
  const quarterMs = windowMs / 4;
  const writtenMs = Math.max(writtenActivityMs(sandbox) ?? 0, seen.writtenMs ?? 0);
  if (now - writtenMs < quarterMs) return { write: false, lookAgainMs: writtenMs + quarterMs };
  return seen.lastMs > writtenMs ? { write: true } : { write: false, lookAgainMs: now + quarterMs };
}

/** When to ask the runtime inside whether it works on something: in the last quarter before the Sandbox counts as idle. */
export function askRuntimeAtMs(windowMs: number, lastKnownMs: number): number {
  return lastKnownMs + (windowMs * 3) / 4;
}
