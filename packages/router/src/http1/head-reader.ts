/** `whole`: the head is complete. `more`: more bytes are needed. */
export type HeadProgress = "whole" | "more" | "too large" | "malformed";

export interface HeadReaderOptions {
  readonly maxBytes: number;
  /** Whether an incomplete head can still become valid. If not, it is refused without waiting for the rest. */
  readonly mayBecomeHead: (text: string) => boolean;
}

const emptyLine = Buffer.from("\r\n\r\n");
/** A first line longer than this is not checked again with every byte that follows. */
const maxCheckedStart = 1024;
const [carriageReturn, lineFeed] = [0x0d, 0x0a];

/** Collects bytes until the head of a message is complete, usually with one read of the socket. */
export class HeadReader {
  /** The complete head without the empty line, one character for each byte. */
  text = "";
  /** Where the head ends in the last chunk. */
  end = 0;
  readonly #options: HeadReaderOptions;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The last three bytes collected, since the empty line may begin in them. */
  #tail = "";
  #isStartKnown = false;

  constructor(options: HeadReaderOptions) {
    this.#options = options;
  }

  /** Whether a part of a head has been received. */
  get hasBegun(): boolean {
    return this.#bytes > 0;
  }

  take(chunk: Buffer, from: number): HeadProgress {
    if (this.#bytes > 0) return this.#takeMore(chunk, from);
    const start = skipEmptyLines(chunk, from);
    const found = chunk.indexOf(emptyLine, start);
    if (found < 0) return start < chunk.length ? this.#takeMore(chunk, start) : "more";
    if (found - start > this.#options.maxBytes) return "too large";
    this.text = chunk.toString("latin1", start, found + 2);
    this.end = found + 4;
    return "whole";
  }

  #takeMore(chunk: Buffer, from: number): HeadProgress {
    const end = this.#endIn(chunk, from);
    const part = chunk.subarray(from, end < 0 ? chunk.length : end);
    const isBroken = breaksLine(part, this.#tail.charCodeAt(this.#tail.length - 1));
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes > this.#options.maxBytes + emptyLine.length) return "too large";
    if (isBroken) return "malformed";
    if (end < 0) return this.#wait(part);
    const all = this.#parts.length === 1 ? part : Buffer.concat(this.#parts);
    this.text = all.toString("latin1", 0, all.length - 2);
    this.end = end;
    this.#parts = [];
    this.#bytes = 0;
    this.#tail = "";
    this.#isStartKnown = false;
    return "whole";
  }

  /** Where the head ends in `chunk`, or -1. */
  #endIn(chunk: Buffer, from: number): number {
    const seam = this.#tail + chunk.toString("latin1", from, from + 3);
    const across = seam.indexOf("\r\n\r\n");
    if (across >= 0) return from + across + emptyLine.length - this.#tail.length;
    const found = chunk.indexOf(emptyLine, from);
    return found < 0 ? -1 : found + emptyLine.length;
  }

  #wait(part: Buffer): HeadProgress {
    this.#tail = (this.#tail + part.toString("latin1", Math.max(0, part.length - 3))).slice(-3);
    if (this.#isStartKnown) return "more";
    const text = Buffer.concat(this.#parts).toString("latin1");
    this.#isStartKnown = text.includes("\r\n") || text.length > maxCheckedStart;
    return this.#options.mayBecomeHead(text) ? "more" : "malformed";
  }
}

/** RFC 9112, 2.2: some clients send an extra empty line after a body. */
function skipEmptyLines(chunk: Buffer, from: number): number {
  let at = from;
  while (chunk[at] === carriageReturn && chunk[at + 1] === lineFeed) at += 2;
  return at;
}

/** Whether there is an LF without CR or a CR without LF. */
function breaksLine(part: Buffer, before: number): boolean {
  let last = before;
  for (const byte of part) {
    if ((byte === lineFeed) !== (last === carriageReturn)) return true;
    last = byte;
  }
  return false;
}
