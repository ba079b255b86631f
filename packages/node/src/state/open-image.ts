import { type Pod, parseImageReference } from "@agent-sandbox/api";
import type { Effects } from "../pod/effects.ts";
import { runtimeNamed } from "../pod/machine.ts";
import { holderName, membersOf, needsHolder } from "../pod/members.ts";
import { isLive } from "../pod/plan-stop.ts";
import { runtimeOf } from "../pod/pod-runtime.ts";
import type { PodRecord } from "../pod/record.ts";
import { namesIn } from "../system/folders.ts";
import { readCpuFeatures } from "./cpu-features.ts";
import { moveVolumesIn } from "./empty-dirs.ts";
import { hashContainers } from "./hash-containers.ts";
import { identityFile, keepsIdentityOfSource } from "./identity.ts";
import { volumesFolder } from "./image-files.ts";
import { checkPlace, type ImageMeta, readMeta } from "./image-meta.ts";
import type { OpenCheckpoint } from "./image-vault.ts";
import { openSnapshot, placeFiles, type UsableSnapshot } from "./restore-snapshot.ts";
import { ownFiles } from "./sealed-meta.ts";
import { StateError } from "./state-error.ts";
import type { StoredImage } from "./suspensions.ts";

/** An image that this Pod may use. */
export interface UsableImage extends Pick<StoredImage, "folder"> {
  /** The files for the runtime. */
  readonly checkpoint: OpenCheckpoint;
  readonly meta: Pick<ImageMeta, "containers" | "identity" | "isStopped">;
  /** Resolves when the files of the image have been read and are intact. No container is restored before. */
  readonly verified: Promise<void>;
  /** The name of the SandboxSnapshot that the image belongs to. */
  readonly snapshot?: string;
  /** Gives the Pod the files of the image. Called before anything of the Pod is restored. */
  readonly prepare?: () => Promise<void>;
  /**
   * Marks the image as used by this Pod, and gives the Pod its volumes. No container is restored before. Throws if another Pod has
   * used the image.
   */
  readonly claim: () => Promise<void>;
  /** `claim` moves folders that containers mount. */
  readonly hasVolumes: boolean;
  /** Called when the Pod runs. */
  readonly used?: () => Promise<void>;
}

/** Finds the image that a Pod names, and checks that the Pod may use it and that it can be restored here. */
export async function openImage(effects: Effects, pod: Pod, record: PodRecord, name: string): Promise<UsableImage> {
  const { machine } = effects;
  const reference = parseImageReference(name);
  const sandboxUid = record.keptFor ?? "";
  if (reference === undefined) throw new StateError("RestoreFailed", `"${name}" does not name an image`);
  if (sandboxUid === "") throw new StateError("RestoreFailed", "No Sandbox controls this Pod");
  if (reference.type === "snapshot") return openSnapshotImage(effects, pod, record, reference.uid);
  const key = { sandboxUid, epoch: reference.epoch };
  const image = await machine.suspensions.find(key);
  if (image === undefined || image.meta.sandboxUid !== sandboxUid || image.meta.namespace !== record.namespace) {
    throw new StateError("ImageMissing", `This node has no image "${name}" of the Sandbox`);
  }
  await checkImage(effects, pod, record, image.meta);
  if (orderOf(pod, image.meta).length === 0) {
    throw new StateError("ImageDamaged", "Cannot restore the image: it contains no running container of the Pod");
  }
  const checkpoint = await machine.vault.open(image.folder, image.meta);
  return {
    ...image,
    checkpoint,
    verified: later(machine.suspensions.verify(image)),
    claim: async () => {
      await machine.suspensions.claim(key, record.uid);
      await moveVolumesIn(machine.layout, record.uid, image.folder, checkpoint);
    },
    hasVolumes: (await namesIn(volumesFolder(image.folder))).length > 0,
    used: () => machine.suspensions.remove(key),
  };
}

/**
 * Opens the snapshot that a Pod names. Any number of Pods can be restored from it, each with its own copy of the files. A snapshot
 * without memory gives an image without containers: they are started.
 */
async function openSnapshotImage(effects: Effects, pod: Pod, record: PodRecord, uid: string): Promise<UsableImage> {
  const { machine } = effects;
  const found = await openSnapshot(effects, pod, record, uid);
  const { folder, stored } = found;
  const image = stored.depth === "Memory" ? await openMemory(effects, pod, record, found) : undefined;
  const verified = later(image === undefined ? Promise.resolve() : machine.snapshots.verify(uid, image.meta.files));
  const checkpoint = await machine.vault.open(folder, image?.meta ?? ownFiles(folder, stored));
  return {
    folder,
    checkpoint,
    verified,
    meta: image?.meta ?? { containers: {}, identity: record.identity === true },
    snapshot: stored.name,
    prepare: () => placeFiles(machine, record, found, { ...checkpoint, verified }),
    // Any number of Pods can use it.
    claim: () => Promise.resolve(),
    hasVolumes: false,
    // The Sandbox continues from here: memory that was saved before is out of date.
    used: () => machine.suspensions.removeOlder(record.keptFor ?? "", record.uid),
  };
}

async function openMemory(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  { folder, stored }: UsableSnapshot,
): Promise<StoredImage> {
  const meta = await readMeta(folder, effects.machine.vault.keys);
  if (meta === undefined) throw new StateError("ImageMissing", `SandboxSnapshot "${stored.name}" has lost its memory`);
  await checkImage(effects, pod, record, meta);
  if (stored.sandbox.uid !== record.keptFor && keepsIdentityOfSource(pod, meta)) {
    const why = `the Pod of "${stored.sandbox.name}" had no ${identityFile}, from which a fork learns who it is`;
    throw new StateError(
      "RestoreFailed",
      `Cannot fork the snapshot: ${why}. Restart that Sandbox and take another one`,
    );
  }
  return { folder, meta };
}

/** The caller awaits the promise when it needs the result. An error before that must not end the process. */
export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Throws a StateError if an intact image cannot be restored by this Pod on this machine. */
async function checkImage({ machine, rules }: Effects, pod: Pod, record: PodRecord, meta: ImageMeta): Promise<void> {
  const { checkpoints, name } = runtimeNamed(machine, runtimeOf(pod, record, rules.defaultRuntime));
  if (checkpoints === undefined) {
    throw new StateError("RuntimeCannotSave", `Runtime "${name}" cannot restore the memory of a Pod`);
  }
  const [build, cpu] = await Promise.all([checkpoints.build(), readCpuFeatures()]);
  checkPlace(meta, { build, cpu, specHash: hashContainers(pod) });
}

/** The containers of the saved sandbox, in the order in which they are restored. */
export function orderOf(pod: Pod, { containers }: Pick<ImageMeta, "containers">): string[] {
  const names = [...(needsHolder(pod) ? [holderName] : []), ...membersOf(pod).map(({ container }) => container.name)];
  return names.filter((name) => isLive(containers[name]));
}
