import { ChunkedDecoder } from "./chunked-decoder.ts";

/** How the end of a body is determined: by its length, by its last chunk, or by the end of the connection. */
export type BodyFraming = number | "chunked" | "until closed";

/** Finds the end of a body in the bytes of a connection. */
export class BodyReader {
  readonly #chunks: ChunkedDecoder | undefined;
  #left: number;

  constructor(framing: BodyFraming) {
    this.#chunks = framing === "chunked" ? new ChunkedDecoder() : undefined;
    this.#left = typeof framing === "number" ? framing : Number.POSITIVE_INFINITY;
  }

  get isWhole(): boolean {
    return this.#chunks === undefined ? this.#left === 0 : this.#chunks.isWhole;
  }

  /** Whether the body is complete if the connection ends now. */
  get mayEndHere(): boolean {
    return this.isWhole || (this.#left === Number.POSITIVE_INFINITY && this.#chunks === undefined);
  }

  /** Delivers the data in `chunk` and returns where the body's bytes end in it. Throws `MalformedBody`. */
  take(chunk: Buffer, from: number, deliver: (data: Buffer) => void): number {
    if (this.#chunks !== undefined) return this.#chunks.take(chunk, from, deliver);
    const end = Math.min(chunk.length, from + this.#left);
    if (end === from) return end;
    this.#left -= end - from;
    deliver(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end));
    return end;
  }
}
