import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { sandboxSnapshots } from "@agent-sandbox/api";
import { type Client, isReason, KubeError, type SnapshotPlace } from "@agent-sandbox/kube";
import type { Machine } from "../pod/machine.ts";
import type { ContainerRecord } from "../pod/record.ts";
import { namesIn } from "../system/folders.ts";
import { type ArchivedContainer, archiveFormat, type Manifest } from "./archive-format.ts";
import { type MemberSource, measureMembers, writeArchive } from "./archive-stream.ts";
import { checkpointFolder, volumesFolder } from "./image-files.ts";
import { type ImageMeta, readMeta } from "./image-meta.ts";
import { packTree } from "./pack-tree.ts";
import { ownFiles, type SealedFiles } from "./sealed-meta.ts";
import { claimIn, layerIn, type StoredSnapshot, snapshotFolder } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";

interface Exported {
  readonly machine: Machine;
  readonly stored: StoredSnapshot;
  readonly meta: ImageMeta | undefined;
  readonly sealed: SealedFiles | undefined;
}

/**
 * The archive of a complete snapshot. Its files are read twice: first for the checksums in the manifest, then for the content.
 * Rejects with a KubeError if there is no such snapshot or it cannot be read.
 */
export async function exportSnapshot(
  { machine, client }: { readonly machine: Machine; readonly client: Client },
  { namespace, name }: SnapshotPlace,
  signal?: AbortSignal,
): Promise<Readable> {
  const found = await client.get(sandboxSnapshots, { namespace, name }).catch((error: unknown) => {
    if (isReason(error, "NotFound")) throw new KubeError("NotFound", `sandboxsnapshots "${name}" not found`);
    throw error;
  });
  const stored = await machine.snapshots.read(found.metadata.uid ?? "");
  if (stored === undefined) throw new KubeError("Conflict", `SandboxSnapshot "${name}" is not ready`);
  const folder = snapshotFolder(machine.layout, stored.uid);
  const plain = new AsyncDisposableStack();
  try {
    const meta = stored.depth === "Memory" ? await readMeta(folder, machine.vault.keys) : undefined;
    const { sealed } = meta ?? ownFiles(folder, stored);
    const exported = { machine, stored, meta, sealed };
    let omitted = 0;
    const sources = await sourcesOf(exported, await openVolumes(exported, plain), () => (omitted += 1));
    // A file with holes can be larger than the disk.
    const members = await measureMembers(sources, {
      mostBytes: machine.snapshotRoom.quota.snapshotBytesPerNamespace,
      signal,
    });
    const totalBytes = members.reduce((sum, { bytes }) => sum + bytes, 0);
    const archive = writeArchive({ ...describe(exported), omitted, members, totalBytes }, sources);
    const body = Readable.from(archive, { objectMode: false, highWaterMark: 2 ** 20 });
    return body.once("close", () => void plain.disposeAsync());
  } catch (error) {
    await plain.disposeAsync();
    if (error instanceof StateError) throw new KubeError("Conflict", `${error.reason}: ${error.message}`);
    throw error;
  }
}

async function sourcesOf(
  { machine, stored, sealed }: Exported,
  decrypted: readonly (readonly [string, string])[],
  omit: () => void,
): Promise<MemberSource[]> {
  const folder = snapshotFolder(machine.layout, stored.uid);
  const tree = (name: string, path: string): MemberSource => ({ name, open: () => packTree(path, omit) });
  const files = stored.depth === "Memory" ? await checkpointFiles(folder, sealed) : [];
  const checkpoint = files.map((file) => ({
    name: `checkpoint/${file}`,
    open: () => machine.vault.read(folder, sealed === undefined ? {} : { sealed }, file),
  }));
  const volumes = (await namesIn(volumesFolder(folder))).map(
    (name) => [name, join(volumesFolder(folder), name)] as const,
  );
  return [
    ...checkpoint,
    ...stored.containers.map(({ name }) => tree(`layers/${name}.tar`, layerIn(folder, name))),
    ...stored.claims.map((name) => tree(`claims/${name}.tar`, claimIn(folder, name))),
    ...[...volumes, ...decrypted].map(([name, path]) => tree(`volumes/${name}.tar`, path)),
  ];
}

async function checkpointFiles(folder: string, sealed: SealedFiles | undefined): Promise<string[]> {
  return sealed === undefined ? readdir(checkpointFolder(folder)) : Object.keys(sealed.files);
}

/** Decrypts the volumes of an encrypted snapshot that were in memory, into memory. */
async function openVolumes(
  { machine, stored, sealed }: Exported,
  plain: AsyncDisposableStack,
): Promise<readonly (readonly [string, string])[]> {
  if (sealed === undefined || Object.keys(sealed.volumes).length === 0) return [];
  const folder = snapshotFolder(machine.layout, stored.uid);
  const places = new Map<string, string>();
  for (const [name, bytes] of Object.entries(sealed.volumes)) {
    const scratch = plain.use(await machine.vault.scratch(bytes));
    await machine.vault.unpackVolume(folder, sealed, { name, folder: scratch.folder });
    places.set(name, scratch.folder);
  }
  return [...places];
}

function describe({ stored, meta, sealed }: Exported): Omit<Manifest, "omitted" | "members" | "totalBytes"> {
  const { name, namespace, sandbox, depth, epoch, runtime, containers, pauseMs, createdAt } = stored;
  return {
    format: archiveFormat,
    version: 1,
    snapshot: {
      name,
      namespace,
      sandbox: sandbox.name,
      depth,
      epoch,
      runtime,
      containers,
      pauseMs,
      createdAt,
      memoryVolumes: Object.keys(sealed?.volumes ?? {}),
    },
    ...(meta && {
      image: {
        runtime: meta.runtime,
        build: meta.build,
        cpu: meta.cpu,
        specHash: meta.specHash,
        identity: meta.identity,
        savedAt: meta.savedAt,
        containers: Object.fromEntries(Object.entries(meta.containers).flatMap(archived)),
      },
    }),
  };
}

/** Without what only means something on this machine. A container that had not begun is not part of the image. */
function archived([name, kept]: readonly [string, ContainerRecord]): [string, ArchivedContainer][] {
  const { attempt, runtime, run, ended } = kept;
  if (run === undefined && ended === undefined) return [];
  const startedAt = Math.floor(run?.startedAt ?? ended?.startedAt ?? 0);
  const container = { attempt, runtime, startedAt, hooked: run?.hooked === true };
  if (ended === undefined) return [[name, container]];
  const { exitCode, reason } = ended;
  const times = { startedAt: Math.floor(ended.startedAt), finishedAt: Math.floor(ended.finishedAt) };
  return [[name, { ...container, ended: { exitCode: Math.max(0, exitCode), reason, ...times } }]];
}
