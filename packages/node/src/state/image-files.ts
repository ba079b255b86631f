import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sync } from "../system/json-file.ts";
import { type FileSum, sumOf } from "./file-sum.ts";

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

export type FileSums = Readonly<Record<string, FileSum>>;

/** Creates the folder of an image under its temporary name, and returns its path. Replaces what a crash left there. */
export async function beginImage(folder: string): Promise<string> {
  const partial = `${folder}${partialSuffix}`;
  if (existsSync(partial)) await rm(partial, { recursive: true, force: true });
  for (const path of [checkpointFolder(partial), volumesFolder(partial)])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  return partial;
}

/**
 * Gives an image whose checkpoint `sumFiles` has synced its description and its name. An image with that name is replaced. Returns the
 * path of the folder. It survives a power failure after `syncImage`: until then, one can leave the name without the description,
 * which nobody takes for an image. The caller removes both names if this fails.
 */
export async function commitImage(partial: string, meta: unknown): Promise<string> {
  writeFileSync(join(partial, metaFile), `${JSON.stringify(meta, undefined, 2)}\n`, { mode: 0o600 });
  const folder = partial.slice(0, -partialSuffix.length);
  if (existsSync(folder)) await rm(folder, { recursive: true, force: true });
  renameSync(partial, folder);
  return folder;
}

/** Makes the description and the name of a committed image survive a power failure, with one write of the filesystem's journal. */
export async function syncImage(folder: string): Promise<void> {
  await Promise.all([join(folder, metaFile), folder, dirname(folder)].map(sync));
}

/**
 * The sizes and checksums of a checkpoint, which is synced at the same time: the disk works while the checksums are computed.
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

/** Removes the partial images of a folder, which a crash left behind. */
export async function removePartials(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const partial = names.filter((name) => name.endsWith(partialSuffix));
  await Promise.all(partial.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
