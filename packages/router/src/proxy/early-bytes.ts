import type { Duplex } from "node:stream";

/** More than this a caller need not send before it has an answer. */
const mostBytes = 64 * 1024;

/** Reads on a connection whose request is still waiting, to notice when the caller hangs up; keeps what it says meanwhile. */
export class EarlyBytes {
  readonly #socket: Duplex;
  readonly #chunks: Buffer[];
  readonly #onData: (chunk: Buffer) => void;
  readonly #onEnd: () => void;
  #bytes: number;

  constructor(socket: Duplex, head: Buffer, onGone: () => void) {
    this.#socket = socket;
    this.#chunks = [head];
    this.#bytes = head.length;
    this.#onData = (chunk) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= mostBytes) socket.pause();
    };
    this.#onEnd = onGone;
    socket.on("error", () => undefined);
    socket.on("close", onGone);
    socket.on("end", this.#onEnd);
    socket.on("data", this.#onData);
    socket.resume();
  }

  /** What came so far; from here on the connection is somebody else's. */
  release(): Buffer {
    this.#socket.pause();
    this.#socket.off("data", this.#onData);
    this.#socket.off("end", this.#onEnd);
    return Buffer.concat(this.#chunks);
  }
}
