import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readlink, rename, rm, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { hashLayer, type UnpackBudget, unpackLayer } from "./unpack-layer.ts";

interface LayerRecord {
  /** The digests of the blobs that are known to unpack to this layer. */
  readonly blobs: readonly string[];
  readonly sizeBytes: number;
}

const mostBlobs = 16;

/** A layer as it was fetched: the file and its verified digest. */
export interface LayerBlob {
  readonly path: string;
  readonly digest: string;
}

/**
 * Unpacked layers, each stored once, in folders named after the digest of the uncompressed archive. A folder is complete
 * and verified when it appears, and never changes.
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

  /** Unpacks a blob unless its layer exists. Throws, and leaves no files, if it does not match the digest in the image. */
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
        // With a record, another process has added the same layer. Without one, a removal was interrupted.
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

  /** Removes layers that no image needs. The caller holds the lock of the index, so that no image is added meanwhile. */
  async removeAllBut(needed: ReadonlySet<string>): Promise<void> {
    for (const diffId of await this.#all()) {
      if (needed.has(diffId)) continue;
      // The record first: a folder without a record is not a layer.
      await rm(this.#recordOf(diffId), { force: true });
      await rm(this.#pathOf(diffId), { recursive: true, force: true });
    }
  }

  /** The digests of all blobs that layers were unpacked from. */
  async blobs(): Promise<string[]> {
    const records = await Promise.all((await this.#all()).map((diffId) => this.#read(diffId)));
    return records.flatMap((record) => record?.blobs ?? []);
  }

  /** Removes folders that crashed processes left half unpacked. */
  async removeUnfinished(): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      const pid = /^\.new-(\d+)-/.exec(name)?.[1];
      if (pid === undefined || Number(pid) === process.pid || (await namesIn(`/proc/${pid}`)).length > 0) continue;
      await rm(join(this.#folder, name), { recursive: true, force: true });
    }
  }

  /** A short path for overlayfs, whose mount options must fit into one page. It does not survive a reboot. */
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

  /** Records the last use, for garbage collection. */
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
   * Checks that another blob unpacks to the same layer. Without this check, a tenant who knows the digest of another tenant's
   * layer could use the layer by naming it in the configuration of its own image.
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
  const message = `Cannot use layer sha256:${digest}: its content has digest ${found}, and the image requires ${wanted}`;
  return new NodeError("ErrImagePull", message);
}
