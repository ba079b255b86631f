import { randomUUID } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import { namesIn } from "./folders.ts";
import { mountsUnder } from "./mounts.ts";
import { removeTree } from "./remove-tree.ts";

/** Removes a tree, sooner or later; its path is free at once. */
export type Discard = (path: string) => Promise<void>;

/**
 * Trees that wait for their removal. A container may write millions of files, whose removal takes minutes: whoever is done with
 * a tree moves it here and goes on, so that nobody waits for the files of another tenant. They are removed one after another,
 * and those that an earlier process left, too.
 */
export class Trash implements AsyncDisposable {
  readonly #folder: string;
  readonly #stop = new AbortController();
  #onError: (error: unknown) => void = () => undefined;
  #removing: Promise<void> = Promise.resolve();
  #started = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Until then trees are only collected. What could not be removed is tried again with the next tree. */
  start(onError: (error: unknown) => void = () => undefined): void {
    this.#onError = onError;
    this.#started = true;
    this.#work();
  }

  /** On the same filesystem. Nothing may be mounted below, and what does not exist is fine. */
  async discard(path: string): Promise<void> {
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
    this.#removing = this.#removing.then(() => this.#empty()).catch((error: unknown) => this.#onError(error));
  }

  async #empty(): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      if (this.#stop.signal.aborted) return;
      await removeTree(join(this.#folder, name), { signal: this.#stop.signal }).catch(this.#onError);
    }
  }
}
