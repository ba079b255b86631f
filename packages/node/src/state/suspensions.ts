import { mkdirSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { countDisk } from "../pod/count-disk.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, writeJson } from "../system/json-file.ts";
import { removeTree } from "../system/remove-tree.ts";
import { settleAll } from "../system/settle-all.ts";
import type { Discard } from "../system/trash.ts";
import { beginImage, commitImage, partialSuffix, removePartials, syncImage } from "./image-files.ts";
import { type ImageMeta, readMeta, readUse } from "./image-meta.ts";
import type { ImageVault } from "./image-vault.ts";
import { checkLimits, type ImageUse, type StateLimits } from "./limits.ts";
import { StateError } from "./state-error.ts";
import { chooseUnusable, type UnusableImage } from "./unusable-images.ts";
import { type CountBytes, UnusableSizes } from "./unusable-sizes.ts";
import { VerifiedImages } from "./verified-images.ts";

/** Names the Pod that an image was given to. */
const userFile = "user.json";

/** An image in the store. */
export interface StoredImage {
  readonly folder: string;
  readonly meta: ImageMeta;
}

export interface SuspensionKey {
  readonly sandboxUid: string;
  readonly epoch: number;
}

export interface SuspensionOptions {
  readonly vault: ImageVault;
  /** Removes a folder. Default: at once. */
  readonly discard?: Discard;
  /** Measures unusable images. Default: with `du`. */
  readonly count?: CountBytes;
}

interface Amount {
  readonly used: number;
  readonly most: number;
}

/**
 * The images of suspended Sandboxes, one folder per Sandbox and in it one per epoch. A Sandbox has one image, and two while a new
 * one is written. The sizes are kept in memory: no other process writes here while this one holds the lock of the data folder.
 */
export class Suspensions implements AsyncDisposable {
  readonly #root: string;
  readonly #unusable: string;
  readonly #limits: StateLimits;
  readonly #vault: ImageVault;
  readonly #discard: Discard;
  readonly #uses = new Map<string, ImageUse>();
  readonly #verified = new VerifiedImages();
  readonly #sizes: UnusableSizes;

  private constructor(
    layout: Layout,
    limits: StateLimits,
    { vault, discard = removeTree, count = (paths, signal) => countDisk(paths, "bytes", signal) }: SuspensionOptions,
  ) {
    this.#root = join(layout.stateDir, "suspensions");
    this.#unusable = join(layout.stateDir, "unusable");
    this.#limits = limits;
    this.#vault = vault;
    this.#discard = discard;
    this.#sizes = new UnusableSizes(count);
  }

  /** Opens the store and removes partial images, which a crash left behind. */
  static async open(layout: Layout, limits: StateLimits, options: SuspensionOptions): Promise<Suspensions> {
    const store = new Suspensions(layout, limits, options);
    for (const sandboxUid of await namesIn(store.#root)) {
      await removePartials(join(store.#root, sandboxUid));
      for (const epoch of await store.#epochsOf(sandboxUid)) {
        const key = { sandboxUid, epoch };
        const { namespace = "", sizeBytes: bytes = 0 } = (await readUse(store.folderOf(key))) ?? {};
        store.#uses.set(nameOf(key), { sandboxUid, namespace, bytes });
      }
    }
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sizes[Symbol.asyncDispose]();
  }

  /** What all images use, and what they may take. */
  amounts(): { readonly images: Amount; readonly bytes: Amount } {
    const uses = [...this.#uses.values()];
    return {
      images: { used: uses.length, most: this.#limits.images },
      bytes: { used: uses.reduce((sum, { bytes }) => sum + bytes, 0), most: this.#limits.bytes },
    };
  }

  /** The image of a Sandbox and epoch. Throws a StateError if it is damaged or its key is missing. */
  async find(key: SuspensionKey): Promise<StoredImage | undefined> {
    const folder = this.folderOf(key);
    const meta = await readMeta(folder, this.#vault.keys);
    return meta === undefined ? undefined : { folder, meta };
  }

  /** Throws `ImageDamaged` unless the files of an image are as they were written. Remembers the result for a while. */
  verify({ folder, meta }: StoredImage): Promise<void> {
    return this.#verified.verify(folder, meta.files);
  }

  /** Throws `QuotaExceeded` if an image of this size would exceed a limit. Images of the same Sandbox will be replaced by it. */
  admit(wanted: ImageUse): void {
    const others = [...this.#uses.values()].filter(({ sandboxUid }) => sandboxUid !== wanted.sandboxUid);
    checkLimits(wanted, others, this.#limits);
  }

  /** Creates the folder of a partial image. */
  async begin(key: SuspensionKey): Promise<string> {
    mkdirSync(join(this.#root, key.sandboxUid), { recursive: true, mode: 0o700 });
    return beginImage(this.folderOf(key));
  }

  /**
   * Completes a partial image and syncs it. Removes the other images of the Sandbox: it has run since they were saved. Throws
   * `QuotaExceeded` if the image would exceed a limit, also together with images that are completed at the same time. The caller removes the image if
   * this fails.
   */
  async commit(partial: string, meta: ImageMeta): Promise<StoredImage> {
    const { sandboxUid, namespace, epoch, sizeBytes: bytes } = meta;
    const use = { sandboxUid, namespace, bytes };
    this.admit(use);
    this.#uses.set(nameOf(meta), use);
    const folder = await commitImage(partial, await this.#vault.metaOf(partial, meta));
    await settleAll([syncImage(folder), this.#verified.remember(folder, meta.files)]);
    for (const other of await this.#epochsOf(sandboxUid)) {
      if (other !== epoch) await this.remove({ sandboxUid, epoch: other });
    }
    return { folder, meta };
  }

  /** Syncs an image that an earlier process committed, and may not have synced. */
  async settle(key: SuspensionKey): Promise<void> {
    await syncImage(this.folderOf(key));
  }

  /**
   * Marks an image as used by a Pod, before the Pod is restored from it. Throws if another Pod has used it: that one may have run,
   * so the image and the files of the Sandbox no longer belong together.
   */
  async claim(key: SuspensionKey, podUid: string): Promise<void> {
    const user = await this.#userOf(key);
    if (user === podUid) return;
    if (user === undefined) return writeJson(join(this.folderOf(key), userFile), { podUid }, { durable: true });
    throw new StateError("ImageMissing", "Cannot restore the image: another Pod has already continued from it");
  }

  /** Takes the mark away from a Pod that did not run. The mark of another Pod stays. */
  async disclaim(key: SuspensionKey, podUid: string): Promise<void> {
    if ((await this.#userOf(key)) === podUid) await rm(join(this.folderOf(key), userFile), { force: true });
  }

  async #userOf(key: SuspensionKey): Promise<string | undefined> {
    return ((await readJson(join(this.folderOf(key), userFile))) as { podUid?: string } | undefined)?.podUid;
  }

  /** Removes an image, complete or partial. */
  async remove(key: SuspensionKey): Promise<void> {
    const folder = this.folderOf(key);
    for (const path of [folder, `${folder}${partialSuffix}`]) await this.#discard(path);
    this.#uses.delete(nameOf(key));
  }

  /**
   * Called when the Sandbox starts without memory: its images are out of date from then on. One that could not be restored is kept
   * for inspection. The Pod starts after this, so nothing is measured here.
   */
  async retire(sandboxUid: string, now: number): Promise<void> {
    const epochs = await this.#epochsOf(sandboxUid);
    for (const epoch of epochs) {
      const key = { sandboxUid, epoch };
      await mkdir(this.#unusable, { recursive: true, mode: 0o700 });
      await rename(this.folderOf(key), join(this.#unusable, `${now}-${nameOf(key).replace("/", "-")}`)).catch(
        (error: unknown) => {
          if (!hasCode(error, "ENOENT")) throw error;
        },
      );
      this.#uses.delete(nameOf(key));
    }
    if (epochs.length > 0) await this.#limitUnusable(now);
  }

  /** Resolves when all images that could not be restored are measured, and those above the limits are removed. */
  measured(): Promise<void> {
    return this.#sizes.settled();
  }

  /** Removes the images that other Pods of a Sandbox have saved. Called when this Pod has run: they are out of date. */
  async removeOlder(sandboxUid: string, podUid: string): Promise<void> {
    for (const epoch of await this.#epochsOf(sandboxUid)) {
      const found = await this.find({ sandboxUid, epoch }).catch(() => undefined);
      if (found?.meta.podUid !== podUid) await this.remove({ sandboxUid, epoch });
    }
  }

  /** Removes all images of a Sandbox that was deleted, also those that could not be restored. */
  async forget(sandboxUid: string): Promise<void> {
    for (const epoch of await this.#epochsOf(sandboxUid)) await this.remove({ sandboxUid, epoch });
    await this.#discard(join(this.#root, sandboxUid));
    for (const name of await namesIn(this.#unusable)) {
      if (sandboxOf(name) === sandboxUid) await this.#discard(join(this.#unusable, name));
    }
  }

  /** Removes the images of Sandboxes that no longer exist, and unusable images that are too old. Returns the UIDs. */
  async sweep(sandboxes: () => Promise<ReadonlySet<string> | undefined>, now: number): Promise<string[]> {
    await this.#limitUnusable(now);
    // Listed before the Sandboxes, so that the image of a Sandbox created in between is not removed.
    const unusable = (await namesIn(this.#unusable)).map(sandboxOf);
    const found = [...new Set([...(await namesIn(this.#root)), ...unusable])];
    const existing = found.length === 0 ? undefined : await sandboxes();
    const gone = existing === undefined ? [] : found.filter((uid) => !existing.has(uid));
    for (const sandboxUid of gone) await this.forget(sandboxUid);
    return gone;
  }

  /** Applies the limits to the bytes that are known, and again when all images are measured. */
  async #limitUnusable(now: number): Promise<void> {
    await this.#removeUnusable(now);
    const list = async (): Promise<string[]> =>
      (await namesIn(this.#unusable)).map((name) => join(this.#unusable, name));
    this.#sizes.measure(list, this.#limits.imageBytes, () => this.#removeUnusable(now));
  }

  async #removeUnusable(now: number): Promise<void> {
    const names = await namesIn(this.#unusable);
    const images = await Promise.all(
      names.map(async (name): Promise<UnusableImage> => {
        const path = join(this.#unusable, name);
        const { namespace = "", sizeBytes = 0 } = (await readUse(path)) ?? {};
        return { path, retiredAt: Number.parseInt(name, 10), namespace, bytes: this.#sizes.of(path) ?? sizeBytes };
      }),
    );
    for (const { path } of chooseUnusable(images, now, this.#limits.imageBytes)) await this.#discard(path);
  }

  async #epochsOf(sandboxUid: string): Promise<number[]> {
    return (await namesIn(join(this.#root, sandboxUid))).filter((name) => /^\d+$/.test(name)).map(Number);
  }

  /** The folder of an image that exists or is to be written. */
  folderOf(key: SuspensionKey): string {
    return join(this.#root, nameOf(key));
  }
}

function nameOf({ sandboxUid, epoch }: SuspensionKey): string {
  return `${sandboxUid}/${epoch}`;
}

/** The Sandbox of an unusable image, whose folder is named `<time>-<UID>-<epoch>`. */
function sandboxOf(name: string): string {
  return name.slice(name.indexOf("-") + 1, name.lastIndexOf("-"));
}
