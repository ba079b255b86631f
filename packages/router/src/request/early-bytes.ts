import type { Duplex } from "node:stream";

/** Reading stops here until the upgrade is accepted. */
const maxBytes = 64 * 1024;

export interface EarlyBytesOptions {
  /** Bytes that arrived after the request's head. */
  readonly head: Buffer;
  /** Whether the client may stop sending and still wait for a response. */
  readonly mayHalfClose: boolean;
  /** Called when the client disconnects. */
  readonly onGone: () => void;
}

/**
 * Reads from a connection while its upgrade request waits for the sandbox, which is how a disconnect is noticed. The bytes
 * that arrive are kept for the sandbox.
 */
export class EarlyBytes {
  readonly #stream: Duplex;
  readonly #chunks: Buffer[];
  readonly #onData: (chunk: Buffer) => void;
  readonly #onEnd: () => void;
  #bytes: number;

  constructor(stream: Duplex, { head, mayHalfClose, onGone }: EarlyBytesOptions) {
    this.#stream = stream;
    this.#chunks = [head];
    this.#bytes = head.length;
    this.#onData = (chunk) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= maxBytes) stream.pause();
    };
    this.#onEnd = mayHalfClose ? () => undefined : onGone;
    stream.on("error", () => undefined);
    stream.on("close", onGone);
    stream.on("end", this.#onEnd);
    stream.on("data", this.#onData);
    stream.resume();
  }

  /** Stops reading and returns the bytes received so far. */
  release(): Buffer {
    this.#stream.pause();
    this.#stream.off("data", this.#onData);
    this.#stream.off("end", this.#onEnd);
    return Buffer.concat(this.#chunks);
  }
}
