import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ContainerRecord } from "../pod/record.ts";
import type { RuntimeBuild } from "../runtime/oci-runtime.ts";
import { readJson } from "../system/json-file.ts";
import { type FileSums, metaFile } from "./image-files.ts";
import { openSealedMeta, type SealedFiles, type SealedMeta } from "./sealed-meta.ts";
import { StateError } from "./state-error.ts";
import type { StateKeys } from "./state-keys.ts";

/** What is known about an image, beside its files. */
export interface ImageMeta {
  readonly version: 1;
  readonly kind: "suspension" | "snapshot";
  /** The UID of the Sandbox that was saved, and its namespace. */
  readonly sandboxUid: string;
  readonly namespace: string;
  readonly podUid: string;
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  /** The name of the runtime, and its build. */
  readonly runtime: string;
  readonly build: RuntimeBuild;
  /** A hash of the processor's features. Programs decide at their start which of them they use. */
  readonly cpu: string;
  /** See `hashContainers`. */
  readonly specHash: string;
  /** Whether the containers have the folder with the sandbox's identity. */
  readonly identity: boolean;
  /** Whether no process but sandboxd runs in the image, so that a fork gets its identity first. */
  readonly isStopped?: boolean;
  /** The containers of the Pod's record. Those without `ended` are part of the saved sandbox. */
  readonly containers: Readonly<Record<string, ContainerRecord>>;
  readonly files: FileSums;
  /** The files, if they are encrypted. `files` is empty then: decrypting a file verifies it. */
  readonly sealed?: SealedFiles;
  readonly sizeBytes: number;
}

/** What an image must have been saved with to be restored here. */
export interface RestorePlace {
  readonly build: RuntimeBuild;
  readonly cpu: string;
  readonly specHash: string;
}

/**
 * Undefined if there is no image. Throws `ImageDamaged` if its description cannot be read, and `KeyUnavailable` if it is encrypted
 * with a key that the node does not have.
 */
export async function readMeta(image: string, keys: StateKeys): Promise<ImageMeta | undefined> {
  const found = await readMetaFile(image);
  if (found === undefined) return undefined;
  const meta = found.version === 2 ? ((await openSealedMeta(image, found, keys)) as ImageMeta) : found;
  if (meta.version === 1 && typeof meta.files === "object" && typeof meta.containers === "object") return meta;
  throw new StateError("ImageDamaged", `Cannot restore the image: its file ${metaFile} has an unknown format`);
}

/** What an image takes, which is known without its key. Undefined if there is no image or it is damaged. */
export async function readUse(image: string): Promise<Pick<ImageMeta, "namespace" | "sizeBytes"> | undefined> {
  return readMetaFile(image).catch(() => undefined);
}

async function readMetaFile(image: string): Promise<ImageMeta | SealedMeta | undefined> {
  const found = await readJson(join(image, metaFile)).catch((cause: unknown) => {
    throw new StateError("ImageDamaged", `Cannot restore the image: its file ${metaFile} is damaged`, { cause });
  });
  return found as ImageMeta | SealedMeta | undefined;
}

/** Throws if an intact image cannot be restored here, with the reason. */
export function checkPlace(meta: ImageMeta, place: RestorePlace): void {
  if (!isDeepStrictEqual(meta.build, place.build)) {
    const message = `Cannot restore the image: ${describe(meta.build)} saved it, and this node has ${describe(place.build)}`;
    throw new StateError("RuntimeVersionDiffers", message);
  }
  if (meta.cpu !== place.cpu) {
    const message = "Cannot restore the image: it was saved on a processor with other features";
    throw new StateError("CPUFeaturesDiffer", message);
  }
  if (meta.specHash !== place.specHash) {
    const message = "Cannot restore the image: the spec of the containers has changed since it was saved";
    throw new StateError("RestoreFailed", message);
  }
}

function describe({ version, sha256 }: RuntimeBuild): string {
  return `gVisor ${version} (${sha256.slice(0, 12)})`;
}
