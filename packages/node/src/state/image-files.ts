import { chmod, mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { sync, syncFile } from "../system/json-file.ts";

/**
 * The files of an image: a folder with `meta.json`, the folder that the runtime wrote, and the content of volumes that are not kept
 * elsewhere. An image is written under a temporary name, synced, and renamed: a folder without this suffix is complete.
 */
export const partialSuffix = ".partial";
export const metaFile = "meta.json";

/** The folder that the runtime writes and reads. */
export function checkpointFolder(image: string): string {
  return join(image, "checkpoint");
}

/** The content of the Pod's emptyDir volumes. */
export function volumesFolder(image: string): string {
  return join(image, "volumes");
}

/** What a file of the checkpoint must be when it is read again. */
export interface FileSum {
  readonly bytes: number;
  readonly crc32: number;
}

export type FileSums = Readonly<Record<string, FileSum>>;

/** Creates the folder of an image under its temporary name, and returns its path. Replaces what a crash left there. */
export async function beginImage(folder: string): Promise<string> {
  const partial = `${folder}${partialSuffix}`;
  await rm(partial, { recursive: true, force: true });
  for (const path of [partial, checkpointFolder(partial), volumesFolder(partial)])
    await mkdir(path, { recursive: true, mode: 0o700 });
  return partial;
}

/**
 * Gives an image whose checkpoint `sumFiles` has synced its name. An image with that name is replaced. Returns the path of the
 * folder. Its content survives a power failure, its name does so after `syncName`. The caller removes the partial image if this
 * fails.
 */
export async function commitImage(partial: string, meta: unknown): Promise<string> {
  const checkpoint = checkpointFolder(partial);
  for (const name of await readdir(checkpoint)) await chmod(join(checkpoint, name), 0o600);
  await writeMeta(join(partial, metaFile), meta);
  const folder = partial.slice(0, -partialSuffix.length);
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
  return folder;
}

/** Without a temporary name: the folder has one. Each rename that is synced costs a write of the filesystem's journal. */
async function writeMeta(path: string, meta: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(meta, undefined, 2)}\n`, { mode: 0o600 });
  await syncFile(path);
}

/** Makes the name of a complete image survive a power failure. */
export async function syncName(folder: string): Promise<void> {
  await syncFile(folder);
}

/**
 * The sizes and checksums of a checkpoint, which is synced at the same time: the disk works while the checksums are computed. The
 * checksum finds accidental damage: only root can write these files.
 */
export async function sumFiles(image: string): Promise<FileSums> {
  const checkpoint = checkpointFolder(image);
  const names = await readdir(checkpoint);
  const sum = async (name: string): Promise<[string, FileSum]> => [name, await sumOf(join(checkpoint, name))];
  // Read first, then synced: syncing can occupy all threads for files.
  const summing = Promise.all(names.map(sum));
  const syncing = Promise.all([checkpoint, ...names.map((name) => join(checkpoint, name))].map(sync));
  const [sums] = await Promise.all([summing, syncing]);
  return Object.fromEntries(sums);
}

export function sizeOf(sums: FileSums): number {
  return Object.values(sums).reduce((total, { bytes }) => total + bytes, 0);
}

const chunkBytes = 1024 * 1024;

/** The size and checksum of one file. The next part is read while the checksum of this one is computed. */
export async function sumOf(path: string): Promise<FileSum> {
  await using file = await open(path);
  const chunks = [Buffer.allocUnsafe(chunkBytes), Buffer.allocUnsafe(chunkBytes)] as const;
  let reading = file.read(chunks[0], 0, chunkBytes, 0);
  for (let sum = 0, bytes = 0, turn = 1; ; turn += 1) {
    const { bytesRead, buffer } = await reading;
    if (bytesRead === 0) return { bytes, crc32: sum };
    bytes += bytesRead;
    reading = file.read(chunks[turn % 2 === 0 ? 0 : 1], 0, chunkBytes, bytes);
    sum = crc32(buffer.subarray(0, bytesRead), sum);
  }
}

/** Removes the partial images of a folder, which a crash left behind. */
export async function removePartials(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const partial = names.filter((name) => name.endsWith(partialSuffix));
  await Promise.all(partial.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
