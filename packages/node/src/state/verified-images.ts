import { stat } from "node:fs/promises";
import { join } from "node:path";
import { checkpointFolder, type FileSums } from "./image-files.ts";
import { verifyFiles } from "./verify-image.ts";

interface Verified {
  /** What the files were when they were read. */
  readonly state: string;
  readonly at: number;
  readonly result: Promise<void>;
}

/** After this time an image is read again: a disk can lose bits without changing the times of a file. */
const validForMs = 10 * 60_000;
/** More images than a node uses at the same time. */
const mostKnown = 1000;

/**
 * Remembers which images were found intact, so that a hundred forks of a snapshot do not read it a hundred times, and a Sandbox that
 * wakes soon does not wait for the reading of what was just written. An image whose files have another inode, size or time of change
 * is read again. Only root can write them.
 */
export class VerifiedImages {
  readonly #known = new Map<string, Verified>();
  readonly #now: () => number;
  readonly #verify: typeof verifyFiles;

  constructor(now: () => number = () => performance.now(), verify: typeof verifyFiles = verifyFiles) {
    this.#now = now;
    this.#verify = verify;
  }

  /** Throws `ImageDamaged` unless the files of the image are as they were written. Calls at the same time share one reading. */
  async verify(image: string, sums: FileSums): Promise<void> {
    const state = await stateOf(image, sums);
    const known = this.#known.get(image);
    const isValid = known?.state === state && this.#now() - known.at < validForMs;
    await (isValid ? known.result : this.#read(image, sums, state));
  }

  /** Called when the sums were computed from the files, which have not changed since. */
  async remember(image: string, sums: FileSums): Promise<void> {
    this.#add(image, { state: await stateOf(image, sums), at: this.#now(), result: Promise.resolve() });
  }

  #add(image: string, verified: Verified): void {
    this.#known.delete(image);
    this.#known.set(image, verified);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= mostKnown) break;
      this.#known.delete(oldest);
    }
  }

  async #read(image: string, sums: FileSums, state: string): Promise<void> {
    const reading: Verified = { state, at: this.#now(), result: this.#verify(image, sums) };
    this.#add(image, reading);
    try {
      await reading.result;
    } catch (error) {
      if (this.#known.get(image) === reading) this.#known.delete(image);
      throw error;
    }
  }
}

async function stateOf(image: string, sums: FileSums): Promise<string> {
  const files = Object.keys(sums).map(async (name) => {
    const found = await stat(join(checkpointFolder(image), name), { bigint: true }).catch(() => undefined);
    // Reading the image reports a file that is missing.
    return found === undefined ? "" : [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ");
  });
  return JSON.stringify([sums, await Promise.all(files)]);
}
