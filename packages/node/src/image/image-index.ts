import { stat } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { takeLock } from "../system/file-lock.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import type { AccessKey } from "./access.ts";
import type { ImageDescription } from "./manifest.ts";

/** An image in the store. */
export interface StoredImage {
  /** `sha256:` and the digest of its configuration. */
  readonly id: string;
  /** With tags, complete: `docker.io/library/debian:12`. A name belongs to one image at a time. */
  readonly names: readonly string[];
  /** As its registries know it: `docker.io/library/debian@sha256:…`. */
  readonly digests: readonly string[];
  /** Who may use it; absent in what older versions have written. */
  readonly access?: readonly AccessKey[];
  readonly description: ImageDescription;
  /** Unpacked, its layers together. */
  readonly sizeBytes: number;
  readonly createdAt: number;
}

/** Writing takes a moment; unpacking is done before. */
const patienceMs = 60_000;

/**
 * Which images there are. The box and commands of people work on it at the same time: it is read as a whole and replaced
 * as a whole, by one process at a time.
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
    if (value?.version !== 1) throw new NodeError("NodeSetup", `Cannot read "${this.#path}": it is of another version`);
    const images = value.images ?? [];
    this.#read = { mark, images };
    return images;
  }

  /** Nobody else changes the store, or removes anything from it, until the change is made. */
  async change<T>(decide: (images: readonly StoredImage[]) => Promise<IndexChange<T>>): Promise<T> {
    await using lock = await takeLock(`${this.#path}.lock`, patienceMs);
    if (lock === undefined) {
      throw new NodeError("NodeSetup", `Cannot change "${this.#path}": another process has held it for a minute`);
    }
    const { images, result } = await decide(await this.list());
    if (images !== undefined) await writeJson(this.#path, { version: 1, images }, { durable: true });
    return result;
  }
}

export interface IndexChange<T> {
  /** What to write; nothing when absent. */
  readonly images?: readonly StoredImage[];
  readonly result: T;
}

/** Whoever is forgotten has to ask the registry again. */
const mostAccess = 200;

/** Adds an image, or its names to the same one. A name it takes is another's no more. */
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
