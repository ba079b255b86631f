import { stat } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { takeLock } from "../system/file-lock.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import type { AccessKey } from "./access.ts";
import type { ImageDescription } from "./manifest.ts";

export interface StoredImage {
  /** `sha256:` followed by the digest of its configuration. */
  readonly id: string;
  /** Canonical names with tags: `docker.io/library/debian:12`. A name belongs to one image at a time. */
  readonly names: readonly string[];
  /** Canonical names with digests: `docker.io/library/debian@sha256:…`. */
  readonly digests: readonly string[];
  /** The credentials that may use it. Absent in records of older versions. */
  readonly access?: readonly AccessKey[];
  readonly description: ImageDescription;
  /** The unpacked size of all its layers. */
  readonly sizeBytes: number;
  readonly createdAt: number;
}

/** The lock is only held while the index is written, never while an image is unpacked. */
const lockTimeoutMs = 60_000;

/**
 * The list of images in the store. The box and CLI commands use it at the same time, so the file is read and replaced as a
 * whole, and a lock allows one writer at a time.
 */
export class ImageIndex {
  readonly #path: string;
  #read: { readonly mark: string; readonly images: readonly StoredImage[] } | undefined;

  constructor(layout: Layout) {
    this.#path = join(layout.imagesDir, "index.json");
  }

  async list(): Promise<readonly StoredImage[]> {
    const found = await stat(this.#path, { bigint: true }).catch(() => undefined);
    if (found === undefined) return [];
    const mark = `${found.ino} ${found.mtimeNs}`;
    if (this.#read?.mark === mark) return this.#read.images;
    const value = (await readJson(this.#path)) as { version?: number; images?: readonly StoredImage[] } | undefined;
    if (value?.version !== 1) throw new NodeError("NodeSetup", `Cannot read "${this.#path}": unsupported version`);
    const images = value.images ?? [];
    this.#read = { mark, images };
    return images;
  }

  /** Holds the lock during the change: no other process changes the index or removes anything from the store. */
  async change<T>(decide: (images: readonly StoredImage[]) => Promise<IndexChange<T>>): Promise<T> {
    await using lock = await takeLock(`${this.#path}.lock`, lockTimeoutMs);
    if (lock === undefined) {
      throw new NodeError("NodeSetup", `Cannot change "${this.#path}": another process has held the lock for a minute`);
    }
    const { images, result } = await decide(await this.list());
    if (images !== undefined) await writeJson(this.#path, { version: 1, images }, { durable: true });
    return result;
  }
}

export interface IndexChange<T> {
  /** The new list. When absent, nothing is written. */
  readonly images?: readonly StoredImage[];
  readonly result: T;
}

/** Pods whose login is dropped from the list have to ask the registry again. */
const mostAccess = 200;

/** Adds an image, or merges its names into the entry with the same id. Its names are removed from all other images. */
export function withImage(images: readonly StoredImage[], image: StoredImage): StoredImage[] {
  const others = images
    .filter(({ id }) => id !== image.id)
    .map((one) => ({ ...one, names: one.names.filter((name) => !image.names.includes(name)) }));
  const before = images.find(({ id }) => id === image.id);
  const merged = {
    ...image,
    names: [...new Set([...(before?.names ?? []), ...image.names])],
    digests: [...new Set([...(before?.digests ?? []), ...image.digests])],
    access: [...new Set([...(before?.access ?? []), ...(image.access ?? [])])].slice(-mostAccess),
    createdAt: before?.createdAt ?? image.createdAt,
  };
  return [...others, merged];
}
