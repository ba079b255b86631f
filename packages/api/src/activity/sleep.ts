import { findCondition } from "../primitives/condition.ts";
import { compareTimes } from "../primitives/time.ts";
import { blueprintChoices } from "../v1beta1/blueprint-defaults.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";
import { suspendAfterMs } from "./idle-policy.ts";
import { lastActivity } from "./last-activity.ts";
import { suspensionRefusal } from "./refusal.ts";

/** Why a Sandbox is asleep: its author set `operatingMode: Suspended`, or it was idle for too long. */
export type SleepReason = "spec" | "idle";

/** How a sleeping Sandbox is woken: by recording activity, or by setting `operatingMode` to `Running` as well. */
export type WakeBy = "activity" | "mode";

/**
 * Why the Sandbox is asleep, which means that it has no Pod, or will soon have none; undefined: it is awake.
 *
 * The controller suspends an idle Sandbox by writing the condition `Suspended` with the reason `Idle`, and the activity that
 * it based the decision on as `status.lastActivityTime`. Any other activity wakes the Sandbox. The two values are only
 * compared for equality, so clocks that differ do not matter. A Sandbox whose suspension was refused is awake.
 */
export function sleepReason(sandbox: Sandbox): SleepReason | undefined {
  if (sandbox.spec?.operatingMode === "Suspended") return suspensionRefusal(sandbox) === undefined ? "spec" : undefined;
  const isMarkedIdle = findCondition(sandbox.status?.conditions, "Suspended")?.reason === "Idle";
  return isMarkedIdle && suspendAfterMs(sandbox) !== undefined && !hasNewActivity(sandbox) ? "idle" : undefined;
}

/** Whether the Sandbox was used since its status was written. */
export function hasNewActivity(sandbox: Sandbox): boolean {
  const activity = lastActivity(sandbox);
  return activity !== undefined && compareTimes(activity, sandbox.status?.lastActivityTime ?? "") !== 0;
}

/** Whether an open connection without traffic counts as use of the Sandbox. One to a Sandbox that is asleep never does. */
export function connectionsKeepAwake(sandbox: Sandbox): boolean {
  return blueprintChoices(sandbox.spec).idleConnections === "KeepAwake" && sleepReason(sandbox) === undefined;
}

/** How traffic may wake a sleeping Sandbox; undefined: it is awake, or traffic may not wake it. */
export function wakeBy(sandbox: Sandbox): WakeBy | undefined {
  switch (sleepReason(sandbox)) {
    case "spec":
      // The author suspended it: traffic may undo that only if the spec says so explicitly, not by default.
      return sandbox.spec.resumePolicy === "OnTraffic" ? "mode" : undefined;
    case "idle":
      return blueprintChoices(sandbox.spec).resumePolicy === "OnTraffic" ? "activity" : undefined;
    default:
      return undefined;
  }
}
