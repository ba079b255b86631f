import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { hasCode } from "../errors.ts";
import { metaFile, partialSuffix } from "./image-files.ts";
import type { ImageMeta } from "./image-meta.ts";
import { openSealed, sealFile } from "./seal-file.ts";
import { StateError } from "./state-error.ts";
import type { StateKey, StateKeys } from "./state-keys.ts";

/** The encrypted files of an image. */
export interface SealedFiles {
  /** The name of the image and a random part. Files are sealed under it and their name: those of two images cannot be exchanged. */
  readonly id: string;
  /** The plain sizes of the files of the checkpoint. */
  readonly files: Readonly<Record<string, number>>;
  /** The plain sizes of the archives of volumes in memory, by the names of the volumes. */
  readonly volumes: Readonly<Record<string, number>>;
}

/** The part of an image's description that is not encrypted: what the node counts without the key. */
export interface SealedMeta {
  readonly version: 2;
  readonly namespace: string;
  readonly sizeBytes: number;
  readonly keyId: string;
}

const sealedMetaFile = "meta.sealed";

/**
 * The name that the description of an image is sealed under: `<UID of the Sandbox>/<epoch>`, or `snapshots/<UID of the snapshot>`.
 * It is where the image is, so the description of another image is not accepted in its place.
 */
export function imageName(folder: string): string {
  const name = basename(folder);
  const own = name.endsWith(partialSuffix) ? name.slice(0, -partialSuffix.length) : name;
  return `${basename(dirname(folder))}/${own}`;
}

export function newSealedId(folder: string): string {
  return `${imageName(folder)}/${randomBytes(16).toString("hex")}`;
}

/** The encrypted files of a record that is not encrypted itself. Throws `ImageDamaged` if it names files of another image. */
export function ownFiles(folder: string, { sealed }: { readonly sealed?: SealedFiles }): { sealed?: SealedFiles } {
  if (sealed === undefined) return {};
  if (sealed.id.startsWith(`${imageName(folder)}/`)) return { sealed };
  throw new StateError("ImageDamaged", "Cannot read the image: it has files of another image");
}

/** Writes the encrypted description of an image. Returns what its `meta.json` contains instead. */
export async function sealMeta(folder: string, meta: ImageMeta, key: StateKey): Promise<SealedMeta> {
  const path = join(folder, sealedMetaFile);
  await rm(path, { force: true });
  const name = `${imageName(folder)}/${metaFile}`;
  await sealFile(Readable.from([Buffer.from(JSON.stringify(meta))]), path, { key, name });
  return { version: 2, namespace: meta.namespace, sizeBytes: meta.sizeBytes, keyId: key.id };
}

/** Throws `KeyUnavailable` or `ImageDamaged`. */
export async function openSealedMeta(folder: string, { keyId }: SealedMeta, keys: StateKeys): Promise<unknown> {
  if (typeof keyId !== "string") throw damagedMeta();
  keys.named(keyId);
  const name = `${imageName(folder)}/${metaFile}`;
  try {
    return await json(openSealed(join(folder, sealedMetaFile), { keys, name }));
  } catch (error) {
    if (error instanceof StateError || hasCode(error)) throw error;
    throw damagedMeta(error);
  }
}

function damagedMeta(cause?: unknown): StateError {
  return new StateError("ImageDamaged", `Cannot read the image: its file ${sealedMetaFile} is damaged`, { cause });
}
