import type { Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "../errors.ts";
import { watchFolder } from "../system/watch-folder.ts";

export interface FollowOptions {
  /** Whether the log may still grow. */
  readonly isWritten: () => Promise<boolean>;
  /** A folder that changes when the result of `isWritten` may have changed. */
  readonly watch: string;
}

export interface LogFileOptions {
  readonly path: string;
  readonly signal: AbortSignal;
  /** Where to begin. Default: at the start. */
  readonly from?: "start" | "end";
  readonly follow?: FollowOptions;
}

/** A line of the log without its newline. "caught-up" marks the end of the lines that existed when reading began. */
export type LogItem = Buffer | "caught-up";

/**
 * Reads a log and, with `follow`, the lines that are appended. Follows across rotation: the old file is read to its end
 * before the new one.
 */
export async function* readLogFile({ path, signal, from, follow }: LogFileOptions): AsyncGenerator<LogItem> {
  using changes = follow === undefined ? undefined : new Changes([dirname(path), follow.watch], signal);
  await using reader = new LogReader(path);
  if (from === "end") await reader.skip();
  for (let round = 0; ; round += 1) {
    // Check before reading, so that everything written before the check is read.
    const mayGrow = follow !== undefined && !signal.aborted && (await follow.isWritten());
    yield* reader.readAvailable();
    if (round === 0) yield "caught-up";
    if (!mayGrow) return;
    await changes?.next();
  }
}

const chunkBytes = 64 * 1024;
/** Well above the length of conmon's entries. Longer lines are truncated. */
const longestLineBytes = 64 * 1024;
const newline = 0x0a;

class LogReader implements AsyncDisposable {
  readonly #path: string;
  #file: FileHandle | undefined;
  #position = 0;
  /** The beginning of an incomplete line. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** Moves to the end of the file. */
  async skip(): Promise<void> {
    this.#file = await openIfThere(this.#path);
    this.#position = (await this.#file?.stat())?.size ?? 0;
  }

  async *readAvailable(): AsyncGenerator<Buffer> {
    do {
      this.#file ??= await openIfThere(this.#path);
      if (this.#file !== undefined) yield* this.#readToEnd(this.#file);
    } while (await this.#startsAgain());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }

  async *#readToEnd(file: FileHandle): AsyncGenerator<Buffer> {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunkBytes, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      yield* this.#lines(chunk.subarray(0, bytesRead));
    }
  }

  *#lines(chunk: Buffer): Generator<Buffer> {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      yield bytes.subarray(start, end);
      start = end + 1;
    }
    this.#rest = bytes.subarray(start, start + longestLineBytes);
  }

  /** Whether the file was replaced or truncated, so that reading must begin at its start again. */
  async #startsAgain(): Promise<boolean> {
    if (this.#file === undefined) return false;
    const [own, now] = await Promise.all([this.#file.stat(), statIfThere(this.#path)]);
    if (now === undefined) return false;
    const isReplaced = own.ino !== now.ino || own.dev !== now.dev;
    if (!isReplaced && own.size >= this.#position) return false;
    if (isReplaced) {
      await this.#file.close();
      this.#file = undefined;
    }
    [this.#position, this.#rest] = [0, Buffer.alloc(0)];
    return true;
  }
}

/** Waits for changes in several folders. `next` resolves when something has changed since the last call. */
class Changes implements Disposable {
  readonly #watchers: readonly Disposable[];
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(folders: readonly string[], signal: AbortSignal) {
    const notice = (): void => {
      this.#changed = true;
      this.#wake?.();
    };
    this.#watchers = folders.map((folder) => watchFolder(folder, notice));
    signal.addEventListener("abort", notice, { once: true });
    if (signal.aborted) notice();
  }

  async next(): Promise<void> {
    if (!this.#changed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#changed = false;
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher[Symbol.dispose]();
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  return ifThere(open(path, "r"));
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  return ifThere(stat(path));
}

async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
