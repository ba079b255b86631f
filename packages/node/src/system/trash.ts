import { randomUUID } from "node:crypto";
import { lstatSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../errors.ts";
import { namesIn } from "./folders.ts";
import { mountsUnder } from "./mounts.ts";
import { removeTree } from "./remove-tree.ts";

/** Removing the image of a Sandbox that has just been resumed would slow its first answer down. */
const delayMs = 500;

/** Removes a folder in the background. Its path can be used again at once. */
export type Discard = (path: string) => Promise<void>;

/**
 * Removes folders in the background. A container may write millions of files, which take minutes to remove, and no tenant
 * should wait for the files of another. Discarded folders are moved here and removed one after another, also those that an
 * earlier process left.
 */
export class Trash implements AsyncDisposable {
  readonly #folder: string;
  readonly #stop = new AbortController();
  #onError: (error: unknown) => void = () => undefined;
  #removing: Promise<void> = Promise.resolve();
  #started = false;
  /** A round of removing will begin. */
  #isWaiting = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Begins to remove folders. A folder that cannot be removed is tried again when the next one is discarded. */
  start(onError: (error: unknown) => void = () => undefined): void {
    this.#onError = onError;
    this.#started = true;
    this.#work();
  }

  /** Discards a folder of the same filesystem, if it exists. Throws if something is mounted below it. */
  async discard(path: string): Promise<void> {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
    const [mounted] = await mountsUnder(path);
    if (mounted !== undefined) throw new Error(`Cannot remove "${path}": "${mounted}" is still mounted`);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await rename(path, join(this.#folder, randomUUID())).catch((error: unknown) => {
      if (!hasCode(error, "ENOENT")) throw error;
    });
    if (this.#started) this.#work();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#removing;
  }

  #work(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#removing = this.#removing.then(() => this.#emptyLater()).catch((error: unknown) => this.#onError(error));
  }

  async #emptyLater(): Promise<void> {
    await sleep(delayMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    this.#isWaiting = false;
    await this.#empty();
  }

  async #empty(): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      if (this.#stop.signal.aborted) return;
      await removeTree(join(this.#folder, name), { signal: this.#stop.signal }).catch(this.#onError);
    }
  }
}
