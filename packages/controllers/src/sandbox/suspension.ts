import {
  findCondition,
  formatTime,
  isConditionTrue,
  isStateReason,
  type Pod,
  parseSavedMessage,
  type Sandbox,
  type SuspensionStatus,
  saveAnnotation,
  saveableCondition,
  savedCondition,
  suspendDepthAnnotation,
} from "@agent-sandbox/api";
import { baseDepth, depthWithoutSave, mayUseLess, type Shortfall, wantsMemory } from "./depth.ts";
import { isTerminating, type Observed } from "./observed.ts";
import { isRestoring } from "./restoration.ts";
import type { Settings } from "./settings.ts";

/**
 * The next step of suspending a Pod:
 * - `wait`: the driver is restoring or saving it. Deleting it now could lose state.
 * - `save`: ask the driver to save it.
 * - `stop`: delete it, once the status says what the suspension keeps.
 * - `refuse`: the wanted depth cannot be reached, and the policy allows no lower one: the Sandbox keeps running.
 */
export type SuspensionStep =
  | { readonly type: "wait"; readonly for: "Restoring" | "Saving"; readonly waitMs?: number }
  | { readonly type: "save" }
  | { readonly type: "stop"; readonly suspension: SuspensionStatus | undefined }
  | ({ readonly type: "refuse" } & Shortfall);

/**
 * How long a driver may take to answer. A save may wait behind others: the box saves two Pods at a time, each within ten minutes.
 * Without a limit, a driver that never answers would keep the Sandbox from being suspended and from being used.
 */
export const saveLimitMs: number = 30 * 60_000;

/** How to suspend the Pod of a Sandbox. `suspension` is what its status is to say without this suspension. */
export function suspensionStep(
  { sandbox, watched }: Pick<Observed, "sandbox" | "watched">,
  pod: Pod,
  { suspension, settings, now }: { readonly suspension: SuspensionStatus | undefined; settings: Settings; now: number },
): SuspensionStep {
  const record = (over: Partial<SuspensionStatus>): SuspensionStep => ({
    type: "stop",
    suspension: recordOf(sandbox, suspension, { depth: depthWithoutSave(sandbox.spec, settings), ...over }, now),
  });
  if (isSaved(pod)) return record(savedState(pod));
  if (isTerminating(pod)) return { type: "stop", suspension };
  if (isRestoring(pod)) return { type: "wait", for: "Restoring" };
  // Nothing runs in it. If it was to continue earlier state, that state is still there.
  if (pod.status?.phase !== "Running") return isOngoing(suspension) ? { type: "stop", suspension } : record({});
  const shortfall = shortfallOf(sandbox, pod, settings) ?? (isOverdue({ watched }) ? unanswered : undefined);
  if (shortfall !== undefined) return mayUseLess(sandbox.spec) ? record(shortfall) : { type: "refuse", ...shortfall };
  if (!wantsMemory(sandbox.spec)) return record({});
  if (!isSaveRequested(pod)) return { type: "save" };
  return { type: "wait", for: "Saving", waitMs: saveLimitMs - (watched.saving ?? 0) };
}

/** The suspension of a Sandbox whose Pod is gone. A Pod that was to be saved may have been deleted by somebody before that. */
export function suspensionWithoutPod(
  sandbox: Sandbox,
  { settings, now }: { readonly settings: Settings; readonly now: number },
): SuspensionStatus | undefined {
  const before = sandbox.status?.suspension;
  if (before === undefined || isOngoing(before)) return before;
  const depth = depthWithoutSave(sandbox.spec, settings);
  const lost = { reason: "SaveFailed", message: "the Pod ended before it was saved" };
  return recordOf(sandbox, before, { depth, ...(wantsMemory(sandbox.spec) && lost) }, now);
}

/** Whether the status describes a suspension that the Sandbox has not been resumed from. */
export function isOngoing(suspension: SuspensionStatus | undefined): boolean {
  return suspension?.depth !== undefined && suspension.restored === undefined;
}

/** Whether the driver has saved the Pod. Nothing runs in it any more, so it cannot be used again. */
export function isSaved({ status }: Pod): boolean {
  return isConditionTrue(status?.conditions, savedCondition);
}

export function isSaveRequested({ metadata }: Pod): boolean {
  return metadata?.annotations?.[saveAnnotation] !== undefined;
}

/** Whether the driver has not answered the request within the limit. */
export function isOverdue({ watched }: Pick<Observed, "watched">): boolean {
  return (watched.saving ?? 0) >= saveLimitMs;
}

const unanswered: Shortfall = {
  reason: "SaveFailed",
  message: `the state driver has not answered within ${saveLimitMs / 60_000} minutes`,
};

/** Whether a save was requested that the driver is still to answer. Without a driver nobody answers. */
export function awaitsSave(pod: Pod): boolean {
  const { phase, conditions } = pod.status ?? {};
  const isOpen = findCondition(conditions, savedCondition)?.status !== "False";
  return isSaveRequested(pod) && phase === "Running" && isOpen && isConditionTrue(conditions, saveableCondition);
}

/** Only for Sandboxes that use the fields about saved state: the status of all others has no suspension. */
function recordOf(
  { spec }: Sandbox,
  before: SuspensionStatus | undefined,
  reached: SuspensionStatus,
  now: number,
): SuspensionStatus | undefined {
  if (before === undefined && spec.suspendPolicy === undefined) return undefined;
  // Written before the Pod is deleted, and not again after that.
  if (isOngoing(before) && before?.depth === reached.depth) return before;
  const { epoch, restoredFrom } = before ?? {};
  return {
    ...reached,
    time: formatTime(now),
    ...(epoch !== undefined && { epoch }),
    ...(restoredFrom && { restoredFrom }),
  };
}

function savedState({ status }: Pod): SuspensionStatus {
  const sizeBytes = parseSavedMessage(findCondition(status?.conditions, savedCondition)?.message);
  return { depth: "Memory", ...(sizeBytes !== undefined && { sizeBytes }) };
}

/** Why the depth that the policy wants cannot be reached; undefined: it can be, as far as is known. */
function shortfallOf({ spec }: Sandbox, { metadata, status }: Pod, settings: Settings): Shortfall | undefined {
  if (spec.suspendPolicy?.depth === "Filesystem" && baseDepth(settings) === "Volumes") {
    return { reason: "RuntimeCannotSave", message: "this cluster keeps no root filesystems of Pods" };
  }
  if (!wantsMemory(spec)) return undefined;
  const saved = findCondition(status?.conditions, savedCondition);
  if (saved?.status === "False") return answered(saved, "SaveFailed");
  const saveable = findCondition(status?.conditions, saveableCondition);
  if (saveable?.status === "True") return undefined;
  if (saveable !== undefined) return answered(saveable, "RuntimeCannotSave");
  const message =
    metadata?.annotations?.[suspendDepthAnnotation] === "Memory"
      ? "the node of the Pod has no state driver"
      : "the Pod was created before the policy wanted the depth Memory";
  return { reason: "RuntimeCannotSave", message };
}

function answered({ reason, message = "" }: { reason?: string; message?: string }, otherwise: string): Shortfall {
  return { reason: isStateReason(reason) ? reason : otherwise, message };
}
