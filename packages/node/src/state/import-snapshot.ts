import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { importedAnnotation, type SandboxSnapshot, sandboxSnapshots } from "@agent-sandbox/api";
import { type Client, isReason, KubeError, type SnapshotContent } from "@agent-sandbox/kube";
import { countDisk } from "../pod/count-disk.ts";
import type { Machine } from "../pod/machine.ts";
import type { ContainerRecord } from "../pod/record.ts";
import { namespaces } from "../resources.ts";
import { writeJson } from "../system/json-file.ts";
import { admitSnapshot } from "./admit-snapshot.ts";
import {
  type ArchivedContainer,
  type ArchiveMember,
  invalid,
  type Manifest,
  parseMemberName,
} from "./archive-format.ts";
import { readArchive } from "./archive-stream.ts";
import { syncTree } from "./clone-tree.ts";
import { checkpointFolder, metaFile, partialSuffix, sizeOf, sumFiles, volumesFolder } from "./image-files.ts";
import type { ImageMeta } from "./image-meta.ts";
import { type Sealer, sumOf } from "./image-vault.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";
import { claimIn, layerIn, type StoredSnapshot, snapshotFolder } from "./snapshot-store.ts";
import { toStateError } from "./take-snapshot.ts";
import { EntryBudget, unpackTree } from "./unpack-tree.ts";

/** Files in one archive. */
const mostEntries = 1_000_000;

interface Importing {
  readonly machine: Machine;
  readonly client: Client;
}

/**
 * Receives the archive of a snapshot, and creates the SandboxSnapshot when it is complete and intact. Until then nothing can use its
 * files, and every failure removes them. The caller must have decided that the sender is trusted: gVisor reads the memory in it.
 */
export async function importSnapshot(
  importing: Importing,
  { namespace, name, content }: SnapshotContent,
): Promise<SandboxSnapshot> {
  const { machine } = importing;
  await checkPlace(importing, namespace, name);
  const uid = randomUUID();
  try {
    const receiver = new Receiver(importing, namespace, uid);
    // Small files use more of the disk than of the archive.
    const manifest = await machine.snapshotRoom.guard((signal) => readArchive(until(signal, content), receiver));
    return await complete(importing, { namespace, name, manifest, receiver });
  } catch (error) {
    await machine.snapshots.abandon(uid);
    throw error instanceof KubeError ? error : toStateError(error);
  } finally {
    machine.snapshotRoom.release(uid);
  }
}

async function* until(signal: AbortSignal, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** Before anything is uploaded. */
async function checkPlace({ client }: Importing, namespace: string, name: string): Promise<void> {
  await client.get(namespaces, { name: namespace });
  const found = await client.get(sandboxSnapshots, { namespace, name }).catch((error: unknown) => {
    if (!isReason(error, "NotFound")) throw error;
  });
  if (found !== undefined) throw new KubeError("Conflict", `sandboxsnapshots "${name}" already exists`);
}

/** Writes the members of an archive into the folder of a new snapshot. */
class Receiver {
  readonly #importing: Importing;
  readonly #namespace: string;
  readonly #uid: string;
  readonly #entries = new EntryBudget(mostEntries);
  #memoryVolumes: readonly string[] = [];
  folder = "";
  sealer: Sealer | undefined;

  constructor(importing: Importing, namespace: string, uid: string) {
    this.#importing = importing;
    this.#namespace = namespace;
    this.#uid = uid;
  }

  async begin({ snapshot, totalBytes }: Manifest): Promise<void> {
    const { machine } = this.#importing;
    await this.admit({ bytes: totalBytes, diskBytes: totalBytes });
    this.folder = await machine.snapshots.begin(this.#uid, { podUid: "", runtime: "", paused: [] });
    this.sealer = machine.vault.sealer(this.folder);
    this.#memoryVolumes = snapshot.memoryVolumes;
    if (snapshot.depth === "Filesystem" && this.#memoryVolumes.length > 0 && this.sealer !== undefined) {
      throw invalid("it has volumes in memory without memory, and this node has a key to encrypt them");
    }
  }

  async receive({ name, bytes }: ArchiveMember, content: AsyncIterable<Uint8Array>): Promise<void> {
    const place = parseMemberName(name);
    if (place === undefined) throw invalid(`it has the unknown member "${name}"`);
    if (place.kind === "checkpoint") return this.#file(place.file, content);
    const unpack = (folder: string): Promise<void> => unpackTree(content, folder, this.#entries);
    if (place.kind === "layers") return unpack(layerIn(this.folder, place.name));
    if (place.kind === "claims") return unpack(claimIn(this.folder, place.name));
    if (this.sealer === undefined || !this.#memoryVolumes.includes(place.name)) {
      return unpack(join(volumesFolder(this.folder), place.name));
    }
    await using scratch = await this.#importing.machine.vault.scratch(bytes);
    await unpack(scratch.folder);
    await this.sealer.addVolume(place.name, scratch.folder);
  }

  /** Counts in addition to all others until the import ends. Importing deletes no other snapshot. */
  async admit(needs: SnapshotNeeds): Promise<void> {
    const { client, machine } = this.#importing;
    const ports = { client, store: machine.snapshots, room: machine.snapshotRoom, mayEvict: false };
    // An imported snapshot belongs to no Sandbox.
    const sandboxUid = this.#uid;
    await admitSnapshot(ports, { key: this.#uid, namespace: this.#namespace, sandboxUid, ...needs });
  }

  async #file(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.sealer !== undefined) return this.sealer.addFile(file, content);
    await pipeline(content, createWriteStream(join(checkpointFolder(this.folder), file), { flags: "wx", mode: 0o600 }));
  }
}

async function complete(
  importing: Importing,
  { namespace, name, manifest, receiver }: { namespace: string; name: string; manifest: Manifest; receiver: Receiver },
): Promise<SandboxSnapshot> {
  const { machine, client } = importing;
  const { folder, sealer } = receiver;
  const { snapshot, image } = manifest;
  if (image === undefined) await rm(checkpointFolder(folder), { recursive: true, force: true });
  const meta = image && (await metaOf(folder, { image, epoch: snapshot.epoch, namespace, sealer }));
  await syncTree(folder);
  const sizeBytes = (await countDisk([folder]))?.get(folder) ?? 0;
  await receiver.admit({ bytes: sizeBytes, diskBytes: 0, isWritten: true });
  const created = await client.create(sandboxSnapshots, objectOf(namespace, name, manifest));
  const uid = created.metadata.uid ?? "";
  try {
    const named = `${snapshotFolder(machine.layout, uid)}${partialSuffix}`;
    await rename(folder, named);
    // The description is sealed under the final name.
    if (meta !== undefined) await writeJson(join(named, metaFile), await machine.vault.metaOf(named, meta));
    await syncTree(named);
    await machine.snapshots.commit({ ...storedOf(manifest), uid, namespace, name, sizeBytes });
    return created;
  } catch (error) {
    await client.delete(sandboxSnapshots, { namespace, name }, { preconditions: { uid } }).catch(() => undefined);
    await machine.snapshots.abandon(uid);
    throw error;
  }
}

function objectOf(namespace: string, name: string, { snapshot }: Manifest): SandboxSnapshot {
  const { apiVersion, kind } = sandboxSnapshots;
  const { sandbox, depth } = snapshot;
  const annotations = { [importedAnnotation]: "true" };
  const spec = { sandboxRef: { name: sandbox }, depth, deletionPolicy: "Retain" };
  return { apiVersion, kind, metadata: { namespace, name, annotations }, spec } as SandboxSnapshot;
}

/** The Sandbox that was captured may be on another machine: an imported snapshot belongs to none. */
function storedOf({ snapshot, members }: Manifest): Omit<StoredSnapshot, "uid" | "namespace" | "name" | "sizeBytes"> {
  const { sandbox, depth, epoch, runtime, containers, pauseMs, createdAt } = snapshot;
  const places = members.flatMap(({ name }) => parseMemberName(name) ?? []);
  const claims = places.flatMap((place) => (place.kind === "claims" ? [place.name] : []));
  const source = { name: sandbox, uid: "" };
  return { version: 1, sandbox: source, depth, epoch, runtime, containers, claims, pauseMs, createdAt };
}

async function metaOf(
  folder: string,
  {
    image,
    epoch,
    namespace,
    sealer,
  }: { image: NonNullable<Manifest["image"]>; epoch: number; namespace: string; sealer: Sealer | undefined },
): Promise<ImageMeta> {
  const files = sealer === undefined ? await sumFiles(folder) : {};
  return {
    version: 1,
    kind: "snapshot",
    sandboxUid: "",
    podUid: "",
    namespace,
    epoch,
    ...image,
    containers: Object.fromEntries(Object.entries(image.containers).map(([name, one]) => [name, recordOf(one)])),
    files,
    ...(sealer && { sealed: sealer.sealed }),
    sizeBytes: sealer === undefined ? sizeOf(files) : sumOf(sealer.sealed),
  };
}

const noProcess = { pid: 0, start: 0 };

function recordOf({ attempt, runtime, startedAt, hooked, ended }: ArchivedContainer): ContainerRecord {
  if (ended !== undefined) return { attempt, runtime, ended: { id: "", ...ended } };
  const run = { process: noProcess, monitor: noProcess, startedAt, started: true, ...(hooked && { hooked }) };
  return { attempt, runtime, run };
}
