import type { Duplex } from "node:stream";

/** More than this a caller need not send before it has an answer. */
const mostBytes = 64 * 1024;

export interface EarlyBytesOptions {
  /** What came behind the request's head. */
  readonly head: Buffer;
  /** Whether one who sends no more may still be waiting for what comes back. */
  readonly mayHalfClose: boolean;
  readonly onGone: () => void;
}

/** Reads on a line whose request is still waiting, to notice when the caller hangs up; keeps what it says meanwhile. */
export class EarlyBytes {
  readonly #line: Duplex;
  readonly #chunks: Buffer[];
  readonly #onData: (chunk: Buffer) => void;
  readonly #onEnd: () => void;
  #bytes: number;

  constructor(line: Duplex, { head, mayHalfClose, onGone }: EarlyBytesOptions) {
    this.#line = line;
    this.#chunks = [head];
    this.#bytes = head.length;
    this.#onData = (chunk) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= mostBytes) line.pause();
    };
    this.#onEnd = mayHalfClose ? () => undefined : onGone;
    line.on("error", () => undefined);
    line.on("close", onGone);
    line.on("end", this.#onEnd);
    line.on("data", this.#onData);
    line.resume();
  }

  /** What came so far; from here on the line is somebody else's. */
  release(): Buffer {
    this.#line.pause();
    this.#line.off("data", this.#onData);
    this.#line.off("end", this.#onEnd);
    return Buffer.concat(this.#chunks);
  }
}
