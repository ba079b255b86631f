import {
  epochAnnotation,
  findCondition,
  type ImageReference,
  isConditionTrue,
  isStateReason,
  type Pod,
  parseImageReference,
  restoreAnnotation,
  restoredCondition,
  type Sandbox,
  type SuspensionStatus,
} from "@agent-sandbox/api";
import { depthWithoutSave, lowerDepth, mayUseLess, type Shortfall, wantsMemory } from "./depth.ts";
import type { Observed } from "./observed.ts";
import {
  hasSavedMemory,
  restoreFromAnnotation,
  restorePodSnapshotAnnotation,
  unrestoredSnapshot,
} from "./pod-source.ts";
import type { Settings } from "./settings.ts";

/** How far the restore of a Pod is. */
export type Restore =
  | { readonly type: "none" }
  | { readonly type: "running"; readonly image: ImageReference }
  | { readonly type: "done"; readonly image: ImageReference }
  /** `isStarted`: the containers were started without the image, because no driver restores Pods of this node. */
  | ({ readonly type: "failed"; readonly image: ImageReference; readonly isStarted: boolean } & Shortfall);

export function restoreOf({ metadata, status }: Pod): Restore {
  const image = parseImageReference(metadata?.annotations?.[restoreAnnotation] ?? "");
  if (image === undefined) return { type: "none" };
  const answer = findCondition(status?.conditions, restoredCondition);
  if (answer?.status === "True") return { type: "done", image };
  if (answer?.status === "False") {
    const reason = isStateReason(answer.reason) ? answer.reason : "RestoreFailed";
    return { type: "failed", image, isStarted: false, reason, message: answer.message ?? "" };
  }
  if (status?.phase !== "Running") return { type: "running", image };
  const message = "the node of the Pod has no state driver, so the Pod was started from its files";
  return { type: "failed", image, isStarted: true, reason: "RuntimeCannotSave", message };
}

/** Whether the driver is at work on a Pod that may continue saved state: until it answers, nothing is known about the image. */
export function isRestoring(pod: Pod): boolean {
  return restoreOf(pod).type === "running" && isConditionTrue(pod.status?.conditions, "PodScheduled");
}

/** Why the Pod's restore failed and the Sandbox must not start in another way; undefined: nothing hinders it. */
export function restoreRefusal(sandbox: Sandbox, pod: Pod): Shortfall | undefined {
  const restore = restoreOf(pod);
  if (restore.type !== "failed" || !isWanted(sandbox, pod, restore.image)) return undefined;
  const mayFallBack = restore.image.type === "suspension" && mayUseLess(sandbox.spec);
  return mayFallBack ? undefined : { reason: restore.reason, message: restore.message };
}

/** Whether nothing runs in the Pod because its restore failed, and the Sandbox is to continue from something else. */
export function isFailedAttempt(observed: Observed, pod: Pod): boolean {
  const restore = restoreOf(pod);
  return restore.type === "failed" && !restore.isStarted && !isWanted(observed.sandbox, pod, restore.image);
}

/** Whether the image is still the one that the Sandbox is to continue from. */
function isWanted(sandbox: Sandbox, pod: Pod, image: ImageReference): boolean {
  if (image.type === "snapshot") {
    if (podSnapshotName(pod) !== undefined) return isFromPodSnapshot(sandbox, pod);
    return unrestoredSnapshot(sandbox) === pod.metadata?.annotations?.[restoreFromAnnotation];
  }
  const { suspension } = sandbox.status ?? {};
  return (
    unrestoredSnapshot(sandbox) === undefined && hasSavedMemory(suspension) && image.epoch === (suspension?.epoch ?? 0)
  );
}

function podSnapshotName({ metadata }: Pod): string | undefined {
  return metadata?.annotations?.[restorePodSnapshotAnnotation];
}

/** Whether a Pod continues from a Pod snapshot, and the status does not say so yet: each restore has an epoch of its own. */
function isFromPodSnapshot(sandbox: Sandbox, pod: Pod): boolean {
  if (podSnapshotName(pod) === undefined || unrestoredSnapshot(sandbox) !== undefined) return false;
  return epochOf(pod) > (sandbox.status?.suspension?.epoch ?? 0);
}

/**
 * The status of the suspension after what the Pod shows: that its restore succeeded, or failed and a lower depth is allowed, or, in
 * a Sandbox that is awake, that the Pod was started from its files.
 */
export function resumed(
  { sandbox, snapshot }: Pick<Observed, "sandbox" | "snapshot">,
  pod: Pod,
  { settings, isAwake }: { readonly settings: Settings; readonly isAwake: boolean },
): SuspensionStatus | undefined {
  const before = sandbox.status?.suspension;
  const restore = restoreOf(pod);
  const less = lowerDepth(before?.depth, depthWithoutSave(sandbox.spec, settings));
  if (restore.type === "done" && isWanted(sandbox, pod, restore.image)) {
    const { reason: _r, message: _m, ...kept } = before ?? {};
    const { epoch = 0 } = kept;
    if (restore.image.type === "suspension") return { ...kept, epoch: epoch + 1, restored: "Memory" };
    const { uid } = restore.image;
    const name = podSnapshotName(pod) ?? pod.metadata?.annotations?.[restoreFromAnnotation] ?? "";
    const known = snapshot?.metadata.uid === uid ? snapshot.status?.depth : undefined;
    // Pod snapshots always contain memory.
    const depth = isFromPodSnapshot(sandbox, pod) ? "Memory" : known;
    return { ...kept, epoch: Math.max(epoch, epochOf(pod)), restored: depth ?? less, restoredFrom: { name, uid } };
  }
  // A Sandbox that is to sleep keeps the image: the next resume may be able to restore it.
  if (!isAwake) return before;
  if (restore.type === "failed" && restore.image.type === "suspension" && isWanted(sandbox, pod, restore.image)) {
    if (!mayUseLess(sandbox.spec)) return before;
    return { ...before, restored: less, reason: restore.reason, message: restore.message };
  }
  if (pod.status?.phase !== "Running") return before;
  if (before === undefined) return wantsMemory(sandbox.spec) ? { epoch: 0 } : undefined;
  const isPending = before.depth !== undefined && before.restored === undefined;
  return isPending && restore.type !== "failed" ? { ...before, restored: less } : before;
}

/** Anybody who may edit the Pod can write the annotation. */
function epochOf({ metadata }: Pod): number {
  const written = metadata?.annotations?.[epochAnnotation] ?? "";
  return /^\d{1,15}$/.test(written) ? Number(written) : 0;
}
