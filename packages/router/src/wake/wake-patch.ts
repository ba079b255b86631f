import { findCondition, lastActivityAnnotation, parseTime, type Sandbox } from "@agent-sandbox/api";
import type { Patch } from "@agent-sandbox/kube";
import type { WakeBy } from "../cluster/resolve.ts";

/** The write that resumes a Sandbox. The mode is only changed as long as nobody else has changed the object since. */
export function wakePatch(sandbox: Sandbox, by: WakeBy, now: number): Patch {
  const { uid, resourceVersion } = sandbox.metadata;
  const metadata = { annotations: { [lastActivityAnnotation]: new Date(wakeTime(sandbox, now)).toISOString() } };
  const sameObject = uid === undefined ? {} : { uid };
  if (by === "activity") return { type: "merge", body: { metadata }, preconditions: sameObject };
  return {
    type: "merge",
    body: { metadata, spec: { operatingMode: "Running" } },
    preconditions: { ...sameObject, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  };
}

/**
 * Only activity after the suspension resumes. The suspension is dated by another machine's clock, in whole seconds: when
 * that is ahead of ours, the next second of its clock will do.
 */
export function wakeTime(sandbox: Sandbox, now: number): number {
  const { lastTransitionTime } = findCondition(sandbox.status?.conditions, "Suspended") ?? {};
  const suspendedAt = parseTime(lastTransitionTime ?? "");
  return "error" in suspendedAt ? now : Math.max(now, suspendedAt.epochMs + 1000);
}
