import { lastActivityAnnotation } from "../annotations.ts";
import { compareTimes } from "../primitives/time.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";
import { idleWindowMs } from "./idle-policy.ts";
import { lastActivityMs } from "./last-activity.ts";
import type { WakeBy } from "./sleep.ts";

export interface ObservedActivity {
  /** When this process last observed activity. */
  readonly lastMs: number;
  /** When this process last recorded activity; its cache may not show that write yet. */
  readonly recordedMs: number | undefined;
}

export type RecordDecision =
  | { readonly record: true }
  /** Nothing is to be recorded before that time, whatever happens. */
  | { readonly record: false; readonly checkAtMs: number };

/**
 * Whether to record activity now. It is recorded at most once in a quarter of the idle window, by all processes together:
 * the remaining three quarters are there for a write that is late. Undefined: the Sandbox has no idle policy, so nobody
 * reads the record.
 *
 * Times after `now` are ignored, whoever wrote them: after a clock was set back, at most one more write is made.
 */
export function decideRecord(sandbox: Sandbox, observed: ObservedActivity, now: number): RecordDecision | undefined {
  const windowMs = idleWindowMs(sandbox);
  if (windowMs === undefined) return undefined;
  const quarterMs = windowMs / 4;
  const ownMs = observed.recordedMs !== undefined && observed.recordedMs <= now ? observed.recordedMs : 0;
  const recordedMs = Math.max(lastActivityMs(sandbox, now) ?? 0, ownMs);
  if (now - recordedMs < quarterMs) return { record: false, checkAtMs: recordedMs + quarterMs };
  return observed.lastMs > recordedMs ? { record: true } : { record: false, checkAtMs: now + quarterMs };
}

/** When to ask the runtime in a Sandbox whether it is busy: in the last quarter of the idle window. */
export function askRuntimeAtMs(windowMs: number, lastActivityAtMs: number): number {
  return lastActivityAtMs + (windowMs * 3) / 4;
}

/** A merge patch of a Sandbox. The API server refuses it unless the preconditions hold. */
export interface SandboxChange {
  readonly body: {
    readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
    readonly spec?: { readonly operatingMode: "Running" };
  };
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Records that the Sandbox was used at `now`. Wakes one that is asleep because it was idle. */
export function activityChange(sandbox: Sandbox, now: number): SandboxChange {
  const { uid } = sandbox.metadata;
  return {
    body: { metadata: { annotations: { [lastActivityAnnotation]: newActivity(sandbox, now) } } },
    preconditions: uid === undefined ? {} : { uid },
  };
}

/**
 * Wakes the Sandbox. The change is refused if somebody else has changed the object in the meantime: of several replicas of the router, one
 * wakes it.
 */
export function wakeChange(sandbox: Sandbox, by: WakeBy, now: number): SandboxChange {
  const { body, ...change } = activityChange(sandbox, now);
  const { resourceVersion } = sandbox.metadata;
  const preconditions = { ...change.preconditions, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return by === "activity"
    ? { body, preconditions }
    : { body: { ...body, spec: { operatingMode: "Running" } }, preconditions };
}

/** `now`, or a millisecond later if that is the very activity the Sandbox was suspended on, which would not wake it. */
function newActivity({ status }: Sandbox, now: number): string {
  const time = new Date(now).toISOString();
  return compareTimes(time, status?.lastActivityTime ?? "") === 0 ? new Date(now + 1).toISOString() : time;
}
