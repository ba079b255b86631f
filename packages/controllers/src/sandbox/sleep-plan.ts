import {
  hasNewActivity,
  type Sandbox,
  type SleepReason,
  type SuspensionStatus,
  sleepReason,
  suspensionRefusal,
} from "@agent-sandbox/api";
import type { Shortfall } from "./depth.ts";
import { suspendInMs } from "./idle.ts";
import type { FoundPod, Observed } from "./observed.ts";
import { resumed } from "./restoration.ts";
import type { Settings } from "./settings.ts";
import { isSaved, type SuspensionStep, suspensionStep, suspensionWithoutPod } from "./suspension.ts";

/** Whether the Sandbox sleeps, and what its status says about it. */
export interface SleepPlan {
  readonly sleep: SleepReason | undefined;
  /** The Sandbox has just been found idle. The status says so before anything happens to the Pod: later activity wins. */
  readonly becomesIdle: boolean;
  /** How long until the Sandbox is suspended for being idle; undefined: it will not be. */
  readonly idleInMs: number | undefined;
  /** What to do with the Pod of a Sandbox that is to sleep. */
  readonly step: SuspensionStep | undefined;
  /** Why the Sandbox keeps running although it was to be suspended. */
  readonly refusal: Shortfall | undefined;
  readonly suspension: SuspensionStatus | undefined;
}

interface Circumstances {
  readonly settings: Settings;
  readonly now: number;
}

export function planSleep(observed: Observed, found: FoundPod, circumstances: Circumstances): SleepPlan {
  const idleInMs = suspendInMs(observed);
  const isIdle = idleInMs === 0;
  const wanted = isIdle ? "idle" : sleepReason(observed.sandbox);
  if (wanted === undefined) return awake(observed, found, { ...circumstances, idleInMs });
  if (found.type !== "owned") {
    const suspension =
      found.type === "none"
        ? suspensionWithoutPod(observed.sandbox, circumstances)
        : observed.sandbox.status?.suspension;
    return { sleep: wanted, becomesIdle: isIdle, idleInMs, step: undefined, refusal: undefined, suspension };
  }
  const { settings, now } = circumstances;
  const suspension = resumed(observed, found.pod, { settings, isAwake: false });
  const step = suspensionStep(observed, found.pod, { suspension, settings, now });
  if (step.type === "refuse") {
    const refusal = { reason: step.reason, message: `Sandbox keeps running: ${step.message}` };
    // Tried again after the next activity or change of the spec: without those the answer is the same.
    return { ...awake(observed, found, { ...circumstances, idleInMs: undefined }), refusal };
  }
  const recorded = step.type === "stop" ? step.suspension : suspension;
  return { sleep: wanted, becomesIdle: isIdle, idleInMs, step, refusal: undefined, suspension: recorded };
}

function awake(
  observed: Observed,
  found: FoundPod,
  { idleInMs, settings, now }: Circumstances & { readonly idleInMs: number | undefined },
): SleepPlan {
  const refusal = standingRefusal(observed.sandbox);
  const plan = { sleep: undefined, becomesIdle: false, idleInMs, step: undefined, refusal };
  if (found.type !== "owned") return { ...plan, suspension: observed.sandbox.status?.suspension };
  const suspension = resumed(observed, found.pod, { settings, isAwake: true });
  if (!isSaved(found.pod)) return { ...plan, suspension };
  // It was woken while it was being saved. The next Pod continues the image.
  const step = suspensionStep(observed, found.pod, { suspension, settings, now });
  return { ...plan, suspension: step.type === "stop" ? step.suspension : suspension };
}

/** A refusal stays in the status until the spec changes or, for an idle Sandbox, until it is used. */
function standingRefusal(sandbox: Sandbox): Shortfall | undefined {
  const refusal = suspensionRefusal(sandbox);
  const isByAuthor = sandbox.spec.operatingMode === "Suspended";
  return isByAuthor || !hasNewActivity(sandbox) ? refusal : undefined;
}

/** The record of a restored snapshot belongs to one `restoreFrom`: without it, the same snapshot can be restored again. */
export function forgetOldSnapshot(sandbox: Sandbox): Sandbox {
  const { restoredFrom, ...suspension } = sandbox.status?.suspension ?? {};
  if (restoredFrom === undefined || restoredFrom.name === sandbox.spec.restoreFrom?.snapshotRef?.name) return sandbox;
  return { ...sandbox, status: { ...sandbox.status, suspension } };
}
