import { KubeError } from "../../errors.ts";

const newline = 10;

/**
 * Splits a byte stream into lines. It works on bytes, so a character may be split between two chunks, and it joins the pieces
 * of a line only at its end, so the cost is linear. Bytes after the last newline are never returned: after a broken connection
 * they may be an incomplete event.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Calls `onLine` for each non-empty line that ends in `chunk`. Throws if a line is too long. */
  push(chunk: Buffer, onLine: (line: Buffer) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = this.#complete(chunk.subarray(start, end));
      if (line.length > 0) onLine(line);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #complete(last: Buffer): Buffer {
    if (this.#pieces.length === 0) return last;
    this.#keep(last);
    const line = Buffer.concat(this.#pieces, this.#pieceBytes);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return line;
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes > this.#maxLineBytes) {
      throw new KubeError(
        "InvalidResponse",
        `Cannot read the watch: one event is longer than ${this.#maxLineBytes} bytes`,
      );
    }
  }
}
