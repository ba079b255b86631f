import { type FileHandle, open, rename, rm } from "node:fs/promises";
import type { Logger } from "../logger.ts";

export interface RotatingFileOptions {
  readonly path: string;
  /** The file is rotated before it grows beyond this. */
  readonly maxBytes: number;
  /** The number of files to keep, including the current one. */
  readonly maxFiles: number;
  readonly logger: Logger;
}

/** The limit of lines waiting for the disk. Beyond it, lines are dropped and counted. */
const maxPendingBytes = 16 * 1024 * 1024;

/** Appends lines to a file that only its owner can read. Older files are named `path.1`, `path.2` and so on. */
export class RotatingFile {
  readonly #options: RotatingFileOptions;
  #file: FileHandle;
  #size: number;
  #pending: string[] = [];
  #pendingBytes = 0;
  #dropped = 0;
  #writing: Promise<void> | undefined;

  private constructor(options: RotatingFileOptions, file: FileHandle, size: number) {
    this.#options = options;
    this.#file = file;
    this.#size = size;
  }

  /** Fails when the file cannot be opened, so that a wrong path is reported at start. */
  static async open(options: RotatingFileOptions): Promise<RotatingFile> {
    const file = await openForAppend(options.path);
    return new RotatingFile(options, file, (await file.stat()).size);
  }

  append(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#pendingBytes + bytes > maxPendingBytes) {
      this.#dropped += 1;
      return;
    }
    this.#pending.push(`${line}\n`);
    this.#pendingBytes += bytes;
    this.#writing ??= this.#drain();
  }

  /** Writes the remaining lines. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      this.#pending = [];
      this.#pendingBytes = 0;
      try {
        for (const chunk of this.#chunks(lines)) await this.#write(chunk);
      } catch (error) {
        this.#dropped += lines.length;
        this.#options.logger.error({ err: error, path: this.#options.path }, "cannot write audit log");
      }
    }
    if (this.#dropped > 0) this.#options.logger.warn({ lines: this.#dropped }, "audit log lines dropped");
    this.#dropped = 0;
    this.#writing = undefined;
  }

  /** The lines, joined into chunks that each fit into one file. */
  *#chunks(lines: readonly string[]): Generator<string> {
    let chunk: string[] = [];
    let bytes = 0;
    for (const line of lines) {
      const more = Buffer.byteLength(line);
      if (bytes > 0 && bytes + more > this.#options.maxBytes) {
        yield chunk.join("");
        chunk = [];
        bytes = 0;
      }
      chunk.push(line);
      bytes += more;
    }
    yield chunk.join("");
  }

  async #write(chunk: string): Promise<void> {
    const bytes = Buffer.byteLength(chunk);
    if (this.#size > 0 && this.#size + bytes > this.#options.maxBytes) await this.#rotate();
    await this.#file.appendFile(chunk);
    this.#size += bytes;
  }

  async #rotate(): Promise<void> {
    const { path, maxFiles } = this.#options;
    await this.#file.close();
    if (maxFiles === 1) await rm(path, { force: true });
    for (let number = maxFiles - 1; number > 0; number -= 1) {
      await renameIfAny(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`);
    }
    this.#file = await openForAppend(path);
    this.#size = 0;
  }
}

const openForAppend = (path: string): Promise<FileHandle> => open(path, "a", 0o600);

async function renameIfAny(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
