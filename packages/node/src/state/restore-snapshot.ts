import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { controllerOf, isConditionTrue, type Pod, type Sandbox, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { keptPaths, takeKept } from "../image/kept-rootfs.ts";
import { podPaths } from "../layout.ts";
import type { Effects } from "../pod/effects.ts";
import type { Machine } from "../pod/machine.ts";
import { memberNamed } from "../pod/members.ts";
import type { PodRecord } from "../pod/record.ts";
import { namesIn } from "../system/folders.ts";
import { mountsUnder } from "../system/mounts.ts";
import { cloneTree, refillTree } from "./clone-tree.ts";
import { volumesFolder } from "./image-files.ts";
import type { OpenCheckpoint } from "./image-vault.ts";
import { claimIn, layerIn, type StoredSnapshot, snapshotFolder } from "./snapshot-store.ts";
import { isOwnClaim } from "./snapshot-volumes.ts";
import { StateError } from "./state-error.ts";

/** A snapshot that a Pod may be restored from. */
export interface UsableSnapshot {
  readonly stored: StoredSnapshot;
  readonly folder: string;
  readonly sandbox: Sandbox;
}

/**
 * Finds the snapshot that a Pod names. Everybody who may create Pods can write the annotation, so it is verified: the snapshot must
 * be in the Pod's namespace and ready, and must have been taken of the Pod's Sandbox or be named in its `restoreFrom`.
 */
export async function openSnapshot(
  { machine, client }: Pick<Effects, "machine" | "client">,
  pod: Pod,
  record: PodRecord,
  uid: string,
): Promise<UsableSnapshot> {
  const { namespace, keptFor } = record;
  const stored = await machine.snapshots.read(uid);
  const object = stored && (await find(client, sandboxSnapshots, { namespace, name: stored.name }));
  if (stored?.namespace !== namespace || object?.metadata.uid !== uid) throw notFound(uid);
  const sandbox = await find(client, sandboxes, { namespace, name: controllerOf(pod)?.name ?? "" });
  if (sandbox?.metadata.uid === undefined || sandbox.metadata.uid !== keptFor) throw notFound(uid);
  const isNamed = sandbox.spec.restoreFrom?.snapshotRef.name === stored.name;
  if (!isNamed && stored.sandbox.uid !== keptFor) throw notFound(uid);
  if (!isConditionTrue(object.status?.conditions, "Ready")) {
    throw new StateError("SnapshotNotReady", `SandboxSnapshot "${stored.name}" is not ready`);
  }
  checkImages(pod, stored);
  return { stored, folder: snapshotFolder(machine.layout, uid), sandbox };
}

/** The same for all, so that nobody learns which snapshots other namespaces have. */
function notFound(uid: string): StateError {
  return new StateError("SnapshotNotFound", `This node has no snapshot "${uid}" that the Sandbox may use`);
}

async function find<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  key: { readonly namespace: string; readonly name: string },
): Promise<T | undefined> {
  return client.get(resource, key).catch((error: unknown) => {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  });
}

/** A writable layer belongs to the image it was written over. */
function checkImages(pod: Pod, { containers }: StoredSnapshot): void {
  for (const { name, reference } of containers) {
    const image = memberNamed(pod, name)?.container.image;
    if (image === reference) continue;
    const why = image === undefined ? "does not exist" : `has the image "${image}" instead of "${reference}"`;
    throw new StateError("RestoreFailed", `Cannot restore the snapshot: container "${name}" ${why}`);
  }
}

/**
 * Gives a Pod the files of a snapshot, in place of those that its Sandbox has. Nothing of the Pod may have run. Can be repeated.
 * Throws `SandboxError` while another Pod of the Sandbox uses the files. What the Sandbox has is replaced only when the snapshot is
 * `verified`.
 */
export async function placeFiles(
  machine: Machine,
  record: PodRecord,
  { stored, folder, sandbox }: UsableSnapshot,
  { fillVolumes, verified }: Pick<OpenCheckpoint, "fillVolumes"> & { readonly verified: Promise<void> },
): Promise<void> {
  const { layout, trash } = machine;
  const { uid: holder, keptFor = "", volumes = {} } = record;
  for (const { name, reference, image } of stored.containers) {
    const paths = keptPaths(layout, keptFor, name);
    if (existsSync(paths.dir)) await verified;
    await takeKept(layout, paths, { reference, image, holder }, (path) => trash.discard(path));
    for (const old of [paths.upper, paths.work]) await trash.discard(old);
    await cloneTree(layerIn(folder, name), paths.upper);
  }
  for (const name of stored.claims) {
    const place = volumes[name];
    if (place?.claim === undefined || !isOwnClaim(sandbox, name)) continue;
    await verified;
    await refillTree(claimIn(folder, name), place.path);
  }
  for (const name of await namesIn(volumesFolder(folder))) await placeVolume(machine, record, { folder, name });
  await fillVolumes((name) => join(podPaths(layout, holder).volumes, name));
}

/** An emptyDir may be a mount in memory, which must stay. */
async function placeVolume(
  { layout, trash }: Machine,
  { uid }: PodRecord,
  { folder, name }: { readonly folder: string; readonly name: string },
): Promise<void> {
  const target = join(podPaths(layout, uid).volumes, name);
  const source = join(volumesFolder(folder), name);
  if ((await mountsUnder(target)).includes(target)) return refillTree(source, target);
  await mkdir(podPaths(layout, uid).volumes, { recursive: true });
  await trash.discard(target);
  await cloneTree(source, target);
}
