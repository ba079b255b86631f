import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { PersistentVolumeClaim, Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { type KeptLayer, keptFolder, keptPaths, readKept } from "../image/kept-rootfs.ts";
import { countDisk } from "../pod/count-disk.ts";
import type { Machine } from "../pod/machine.ts";
import { volumeClaims } from "../resources.ts";
import { claimFolder } from "../storage/local-volume.ts";
import { namesIn } from "../system/folders.ts";
import { writeJson } from "../system/json-file.ts";
import { cloneTree, linkTree, syncTree } from "./clone-tree.ts";
import { checkpointFolder, metaFile, volumesFolder } from "./image-files.ts";
import { needsOf } from "./snapshot-needs.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";
import { claimIn, layerIn, type SnapshotStore, type StoredSnapshot } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";
import type { StoredImage } from "./suspensions.ts";
import { epochOf, toStateError } from "./take-snapshot.ts";

export interface SuspendedCapture {
  readonly machine: Machine;
  readonly client: Client;
  readonly store: SnapshotStore;
  readonly snapshot: SandboxSnapshot;
  readonly sandbox: Sandbox;
  /** Throws `QuotaExceeded` if a snapshot with these needs may not be kept. Replaces what was admitted before. */
  readonly admit: (needs: SnapshotNeeds) => Promise<void>;
}

/**
 * Takes a snapshot of a suspended Sandbox: copies its kept root filesystem and its claims, and the image of its memory if there is
 * one. Throws `SourceNotRunning` if the Sandbox is resumed in the meantime, because its files then change.
 */
export async function copySuspended(capture: SuspendedCapture): Promise<StoredSnapshot> {
  const { machine, store, snapshot } = capture;
  const uid = snapshot.metadata.uid ?? "";
  try {
    const before = await stateOf(capture);
    await capture.admit(await estimate(capture, before));
    const folder = await store.begin(uid, { podUid: "", runtime: "", paused: [] });
    await machine.snapshotRoom.guard((signal) => copyFiles(folder, capture, before, signal));
    if (!isDeepStrictEqual(await stateOf(capture), before)) throw resumed();
    await syncTree(folder);
    const sizeBytes = (await countDisk([folder]))?.get(folder) ?? 0;
    await capture.admit({ bytes: sizeBytes, diskBytes: 0, isWritten: true });
    const stored = storedOf(capture, before, sizeBytes);
    await store.commit(stored);
    return stored;
  } catch (error) {
    await store.abandon(uid);
    throw toStateError(error);
  }
}

/** What a suspended Sandbox consists of. It differs after the Sandbox was resumed. */
interface SuspendedState {
  readonly layers: Readonly<Record<string, KeptLayer>>;
  /** The folders of its claims, by the names of their volumes. */
  readonly claims: Readonly<Record<string, string>>;
  readonly image: StoredImage | undefined;
}

async function stateOf({ machine, client, snapshot, sandbox }: SuspendedCapture): Promise<SuspendedState> {
  const { uid = "" } = sandbox.metadata;
  const records = await machine.records.list();
  if ([...records.values()].some((record) => record?.keptFor === uid)) throw resumed();
  const layers: Record<string, KeptLayer> = {};
  for (const container of await namesIn(join(keptFolder(machine.layout), uid))) {
    const kept = await readKept(keptPaths(machine.layout, uid, container));
    if (kept !== undefined) layers[container] = kept;
  }
  if (Object.keys(layers).length === 0) {
    throw new StateError("SourceNotRunning", `Cannot take a snapshot: "${sandbox.metadata.name}" has never run here`);
  }
  const claims = snapshot.spec.volumes === "Exclude" ? {} : await claimsOf(machine, client, sandbox);
  return { layers, claims, image: await imageOf(machine, snapshot, sandbox) };
}

function resumed(): StateError {
  return new StateError("SourceNotRunning", "Cannot take a snapshot: the Sandbox is being resumed");
}

async function imageOf(
  machine: Machine,
  { spec }: SandboxSnapshot,
  sandbox: Sandbox,
): Promise<StoredImage | undefined> {
  if (spec.depth === "Filesystem") return undefined;
  const key = { sandboxUid: sandbox.metadata.uid ?? "", epoch: epochOf(sandbox) };
  const image = await machine.suspensions.find(key);
  if (image !== undefined || spec.depth === undefined) return image;
  throw new StateError("SourceNotRunning", "Cannot take a snapshot: the Sandbox was suspended without its memory");
}

/** A claim of a Sandbox has the names of its template and of the Sandbox. */
async function claimsOf(
  machine: Machine,
  client: Client,
  { metadata, spec }: Sandbox,
): Promise<Record<string, string>> {
  const { namespace = "", name: sandbox = "" } = metadata;
  const folders: Record<string, string> = {};
  for (const template of spec.volumeClaimTemplates ?? []) {
    const volume = template.metadata?.name ?? "";
    const claim: PersistentVolumeClaim = await client.get(volumeClaims, { namespace, name: `${volume}-${sandbox}` });
    folders[volume] = claimFolder(machine.layout, claim.metadata?.uid ?? "");
  }
  return folders;
}

/** The folders to copy, by their places in the snapshot. */
async function foldersOf(
  folder: string,
  { machine, sandbox }: SuspendedCapture,
  { layers, claims, image }: SuspendedState,
): Promise<readonly (readonly [source: string, target: string])[]> {
  const { uid = "" } = sandbox.metadata;
  const volumes = image === undefined ? [] : await namesIn(volumesFolder(image.folder));
  return [
    ...Object.keys(layers).map((name) => [keptPaths(machine.layout, uid, name).upper, layerIn(folder, name)] as const),
    ...Object.entries(claims).map(([name, path]) => [path, claimIn(folder, name)] as const),
    ...volumes.map(
      (name) => [join(volumesFolder(image?.folder ?? ""), name), join(volumesFolder(folder), name)] as const,
    ),
  ];
}

async function estimate(capture: SuspendedCapture, state: SuspendedState): Promise<SnapshotNeeds> {
  const folders = (await foldersOf("", capture, state)).map(([source]) => source);
  return needsOf(capture.machine.layout.dataDir, { folders, linkedBytes: state.image?.meta.sizeBytes ?? 0 });
}

async function copyFiles(
  folder: string,
  capture: SuspendedCapture,
  state: SuspendedState,
  signal: AbortSignal,
): Promise<void> {
  const { image } = state;
  for (const [source, target] of await foldersOf(folder, capture, state)) await cloneTree(source, target, signal);
  await rm(checkpointFolder(folder), { recursive: true });
  if (image === undefined) return;
  // Nobody writes to the files of an image, so both can share them.
  await linkTree(checkpointFolder(image.folder), checkpointFolder(folder));
  const meta = await capture.machine.vault.metaOf(folder, { ...image.meta, kind: "snapshot" });
  await writeJson(join(folder, metaFile), meta);
}

function storedOf(
  { machine, snapshot, sandbox }: SuspendedCapture,
  { layers, claims, image }: SuspendedState,
  sizeBytes: number,
): StoredSnapshot {
  const { uid = "", namespace = "", name = "" } = snapshot.metadata;
  return {
    version: 1,
    uid,
    namespace,
    name,
    sandbox: { name: sandbox.metadata.name ?? "", uid: sandbox.metadata.uid ?? "" },
    depth: image === undefined ? "Filesystem" : "Memory",
    epoch: epochOf(sandbox),
    runtime: { name: image?.meta.runtime ?? "", version: image?.meta.build.version ?? "" },
    containers: Object.entries(layers).map(([container, { reference, image: id }]) => ({
      name: container,
      reference,
      image: id,
    })),
    claims: Object.keys(claims),
    pauseMs: 0,
    sizeBytes,
    createdAt: machine.now(),
  };
}
