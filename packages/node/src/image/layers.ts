import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readlink, rename, rm, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { hashLayer, type UnpackBudget, unpackLayer } from "./unpack-layer.ts";

interface LayerRecord {
  /** The digests of the compressed forms it was unpacked from. */
  readonly blobs: readonly string[];
  readonly sizeBytes: number;
}

const mostBlobs = 16;

/** A layer as it was fetched: the file, and the digest it was verified by. */
export interface LayerBlob {
  readonly path: string;
  readonly digest: string;
}

/**
 * Unpacked layers, each once, in folders named after the digest of what they were unpacked from. A folder appears
 * complete and verified, and never changes.
 */
export class Layers {
  readonly #folder: string;
  readonly #shortNames: string;

  constructor(layout: Layout) {
    this.#folder = join(layout.imagesDir, "layers");
    this.#shortNames = join(layout.runDir, "l");
  }

  async sizeOf(diffId: string): Promise<number | undefined> {
    return (await this.#read(diffId))?.sizeBytes;
  }

  /** Unpacks a blob unless its layer is there. Fails, and leaves nothing, when it is not what the image says. */
  async add(diffId: string, blob: LayerBlob, budget: UnpackBudget): Promise<number> {
    const there = await this.#read(diffId);
    if (there !== undefined) {
      if (!there.blobs.includes(blob.digest)) await this.#compare(diffId, there, blob, budget);
      return there.sizeBytes;
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const temporary = join(this.#folder, `.new-${process.pid}-${randomBytes(4).toString("hex")}`);
    try {
      await mkdir(temporary, { mode: 0o755 });
      await chmod(temporary, 0o755);
      const unpacked = await unpackLayer(blob.path, temporary, budget);
      if (unpacked.diffId !== diffId) throw otherLayer(blob, unpacked.diffId, diffId);
      await rename(temporary, this.#pathOf(diffId)).catch(async (error: unknown) => {
        // Without a record it is the rest of an interrupted removal, else somebody was quicker with the same.
        if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
        if ((await this.sizeOf(diffId)) !== undefined) return;
        await rm(this.#pathOf(diffId), { recursive: true, force: true });
        await rename(temporary, this.#pathOf(diffId));
      });
      const record: LayerRecord = { blobs: [blob.digest], sizeBytes: unpacked.sizeBytes };
      await writeJson(this.#recordOf(diffId), record, { durable: true });
      return unpacked.sizeBytes;
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  }

  /** Removes layers that no image needs. Only while nobody adds images. */
  async removeAllBut(needed: ReadonlySet<string>): Promise<void> {
    for (const diffId of await this.#all()) {
      if (needed.has(diffId)) continue;
      // The record first: a folder without one does not count as a layer.
      await rm(this.#recordOf(diffId), { force: true });
      await rm(this.#pathOf(diffId), { recursive: true, force: true });
    }
  }

  /** The digests of all blobs that layers were unpacked from. */
  async blobs(): Promise<string[]> {
    const records = await Promise.all((await this.#all()).map((diffId) => this.#read(diffId)));
    return records.flatMap((record) => record?.blobs ?? []);
  }

  /** What processes that are gone left half unpacked. */
  async removeUnfinished(): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      const pid = /^\.new-(\d+)-/.exec(name)?.[1];
      if (pid === undefined || Number(pid) === process.pid || (await namesIn(`/proc/${pid}`)).length > 0) continue;
      await rm(join(this.#folder, name), { recursive: true, force: true });
    }
  }

  /** Paths for overlayfs, short because all of them must fit into one page. They do not outlive a reboot. */
  async shortPathOf(diffId: string): Promise<string> {
    await mkdir(this.#shortNames, { recursive: true, mode: 0o700 });
    const target = this.#pathOf(diffId);
    for (let length = 8; ; length += 8) {
      const path = join(this.#shortNames, diffId.slice(0, length));
      try {
        await symlink(target, path);
        return path;
      } catch (error) {
        if (!hasCode(error, "EEXIST")) throw error;
        if ((await readlink(path)) === target) return path;
      }
    }
  }

  async exists(diffId: string): Promise<boolean> {
    return (await lstat(this.#recordOf(diffId)).catch(() => undefined)) !== undefined;
  }

  /** So that what is not used for long can go first. */
  async touch(diffId: string, now: number): Promise<void> {
    await utimes(this.#recordOf(diffId), now / 1000, now / 1000);
  }

  async lastUsed(diffId: string): Promise<number> {
    return (await lstat(this.#recordOf(diffId)).catch(() => undefined))?.mtimeMs ?? 0;
  }

  async #all(): Promise<string[]> {
    return (await namesIn(this.#folder)).flatMap((name) => /^([0-9a-f]{64})\.json$/.exec(name)?.[1] ?? []);
  }

  async #read(diffId: string): Promise<LayerRecord | undefined> {
    return (await readJson(this.#recordOf(diffId))) as LayerRecord | undefined;
  }

  /**
   * The same layer may be compressed in several ways. A blob that only claims to be the layer would give whoever knows its
   * digest what others have fetched.
   */
  async #compare(
    diffId: string,
    { blobs, sizeBytes }: LayerRecord,
    blob: LayerBlob,
    budget: UnpackBudget,
  ): Promise<void> {
    const unpacked = await hashLayer(blob.path, budget);
    if (unpacked.diffId !== diffId) throw otherLayer(blob, unpacked.diffId, diffId);
    const record: LayerRecord = { blobs: [...blobs, blob.digest].slice(-mostBlobs), sizeBytes };
    await writeJson(this.#recordOf(diffId), record);
  }

  #pathOf(diffId: string): string {
    return join(this.#folder, diffId);
  }

  #recordOf(diffId: string): string {
    return join(this.#folder, `${diffId}.json`);
  }
}

function otherLayer({ digest }: LayerBlob, found: string, wanted: string): NodeError {
  const message = `Cannot use layer sha256:${digest}: it unpacks to ${found}, and the image names ${wanted}`;
  return new NodeError("ErrImagePull", message);
}
