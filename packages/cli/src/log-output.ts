import { write, writeSync } from "node:fs";

/** Entries that wait while they cannot be written. Later ones are lost. */
const maxWaitingBytes = 1024 * 1024;
/** The pause before the next write to a pipe that is full. */
const retryMs = 50;

/**
 * Writes log entries to a file descriptor, in order and without blocking. Entries that cannot be written are lost, for instance those
 * on a full disk: the program must not end because its log does, and later entries are written when there is space again.
 */
export class LogOutput {
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWriting = false;

  constructor(fd: number) {
    this.#fd = fd;
    process.on("exit", () => this.#writeRest());
  }

  write(entry: string): void {
    const bytes = Buffer.from(entry);
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.#isWriting) this.#writeNext();
  }

  #writeNext(): void {
    const bytes = this.#takeAll();
    this.#isWriting = bytes.length > 0;
    if (!this.#isWriting) return;
    write(this.#fd, bytes, (error, written) => {
      const isBusy = error?.code === "EAGAIN";
      // On a full disk, a part may be written. The rest is lost when the next attempt fails.
      if (isBusy || error === null) this.#putBack(bytes.subarray(error === null ? written : 0));
      if (isBusy) setTimeout(() => this.#writeNext(), retryMs);
      else this.#writeNext();
    });
  }

  #takeAll(): Buffer {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return bytes;
  }

  #putBack(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#waiting.unshift(rest);
    this.#waitingBytes += rest.length;
  }

  #writeRest(): void {
    try {
      writeSync(this.#fd, this.#takeAll());
    } catch {
      // The program ends, and cannot report this.
    }
  }
}
