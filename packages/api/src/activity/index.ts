export { deleteAfterMs, idleWindowMs, isPoolMember, suspendAfterMs } from "./idle-policy.ts";
export { lastActivity, lastActivityMs } from "./last-activity.ts";
export { isPodOfSandbox, trackedPodName } from "./pod-of-sandbox.ts";
export {
  activityChange,
  askRuntimeAtMs,
  decideRecord,
  type ObservedActivity,
  type RecordDecision,
  type SandboxChange,
  wakeChange,
} from "./record-activity.ts";
export { suspensionRefusal } from "./refusal.ts";
export {
  connectionsKeepAwake,
  hasNewActivity,
  type SleepReason,
  sleepReason,
  type WakeBy,
  wakeBy,
} from "./sleep.ts";
