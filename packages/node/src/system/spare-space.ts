import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "../errors.ts";
import { diskSpace } from "../image/disk-room.ts";

/** Records have a few kilobytes. */
const spareBytes = 2 ** 20;

/**
 * A file that is removed when the disk is full, so that small records can still be written. Without it, a Pod whose save failed
 * because the disk is full could not be recorded as running again. It is written again when there is room.
 */
export class SpareSpace {
  readonly #path: string;
  #isThere = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Writes the file, unless the disk is nearly full. */
  async fill(): Promise<void> {
    const folder = dirname(this.#path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (this.#isThere || (await diskSpace(folder)).freeBytes < 16 * spareBytes) return;
    try {
      await writeFile(this.#path, Buffer.alloc(spareBytes), { mode: 0o600 });
      this.#isThere = true;
    } catch (error) {
      if (!isFull(error)) throw error;
      await this.#remove();
    }
  }

  /** Runs `write`, and repeats it with the spare space if the disk is full. */
  async use(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isFull(error)) throw error;
      // Also if it was not written by this process.
      await this.#remove();
      return write();
    }
    if (!this.#isThere) await this.fill();
  }

  async #remove(): Promise<void> {
    await rm(this.#path, { force: true });
    this.#isThere = false;
  }
}

function isFull(error: unknown): boolean {
  return hasCode(error, "ENOSPC", "EDQUOT");
}
