/**
 * The interface between the Sandbox controller and a state driver: the component on a node that saves and restores Pods. The
 * controller writes annotations on the Pod, the driver answers with conditions in the Pod's status, which tenants cannot write.
 */

/** On a Pod whose state is to be saved when it is suspended: the wanted depth. A driver that sees it reports `Saveable`. */
export const suspendDepthAnnotation = "agents.x-k8s.io/suspend-depth";
/**
 * Asks the driver to save the Pod and to stop its processes once the image is complete. The value is the epoch to save. The
 * driver answers with the condition `Saved`. When the annotation is removed after a failed save, the driver removes the
 * condition: a later request is a new one, even for the same epoch.
 */
export const saveAnnotation = "agents.x-k8s.io/save";
/**
 * On a new Pod: the image to restore instead of starting the containers. See `formatImageReference`. The driver answers with the
 * condition `PodRestored`, at the latest when it reports the Pod as Running.
 */
export const restoreAnnotation = "agents.x-k8s.io/restore";
/** On a Pod: the epoch of the Sandbox that runs in it. */
export const epochAnnotation = "agents.x-k8s.io/epoch";
/** On a SandboxSnapshot: its files come from an archive, so nothing is captured for it. */
export const importedAnnotation = "agents.x-k8s.io/imported";

/** Whether the driver can save this Pod, at the latest when it reports the Pod as Running. When False, the reason is a `StateReason`. */
export const saveableCondition = "agents.x-k8s.io/Saveable";
/** The result of the last save request. True: the image is complete and synced, and no process of the Pod runs any more. */
export const savedCondition = "agents.x-k8s.io/Saved";
/** The result of the restore; False: nothing was started, and the image is kept. */
export const restoredCondition = "PodRestored";

/** Why state could not be saved or restored. */
export const stateReasons = [
  "RuntimeCannotSave",
  "SaveFailed",
  "RestoreFailed",
  "ImageMissing",
  "ImageDamaged",
  "RuntimeVersionDiffers",
  "CPUFeaturesDiffer",
  "VolumeNotLocal",
  "QuotaExceeded",
  "SourceNotRunning",
  "SnapshotNotFound",
  "SnapshotNotReady",
  "ArchiveInvalid",
  "KeyUnavailable",
] as const;
export type StateReason = (typeof stateReasons)[number];

export function isStateReason(text: string | undefined): text is StateReason {
  return stateReasons.some((reason) => reason === text);
}

/** The image of a suspension, by its epoch, or the image of a snapshot, by the UID of its SandboxSnapshot. */
export type ImageReference =
  | { readonly type: "suspension"; readonly epoch: number }
  | { readonly type: "snapshot"; readonly uid: string };

export function formatImageReference(image: ImageReference): string {
  return image.type === "suspension" ? `suspension/${image.epoch}` : `snapshot/${image.uid}`;
}

/** Undefined for a text that names no image. Anybody who can create Pods can write the annotation. */
export function parseImageReference(text: string): ImageReference | undefined {
  const [, type, value = ""] = /^(suspension|snapshot)\/([0-9a-f-]{1,64})$/.exec(text) ?? [];
  if (type === "snapshot") return { type, uid: value };
  return type === "suspension" && /^\d{1,15}$/.test(value) ? { type, epoch: Number(value) } : undefined;
}

/** The message of a `Saved` condition that is True. */
export function formatSavedMessage(sizeBytes: number): string {
  return `${sizeBytes} bytes`;
}

/** The size of the image, or undefined if the message has another form. */
export function parseSavedMessage(message: string | undefined): number | undefined {
  const [, digits] = /^(\d{1,15}) bytes$/.exec(message ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}
