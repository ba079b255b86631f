/** What became of the bytes so far: `more` are needed, or the sender breaks the rules. */
export type HeadProgress = "whole" | "more" | "too large" | "malformed";

export interface HeadReaderOptions {
  readonly mostBytes: number;
  /** Whether the first bytes could still become what is awaited: garbage is refused before its time is over. */
  readonly mayBecomeHead: (text: string) => boolean;
}

const emptyLine = Buffer.from("\r\n\r\n");
/** A first line that has been right for so long need not be looked at with each byte that follows. */
const longestStart = 1024;
const [carriageReturn, lineFeed] = [0x0d, 0x0a];

/** Gathers bytes until the head of a message is whole. Nearly always that is one read of the socket. */
export class HeadReader {
  /** The head without its empty line, once it is whole. Each byte is one character. */
  text = "";
  /** Where in the last chunk the message goes on behind the head. */
  end = 0;
  readonly #options: HeadReaderOptions;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The last three bytes of what is gathered: the empty line may begin in them. */
  #tail = "";
  #isStartKnown = false;

  constructor(options: HeadReaderOptions) {
    this.#options = options;
  }

  /** Whether a part of a head is here. */
  get hasBegun(): boolean {
    return this.#bytes > 0;
  }

  take(chunk: Buffer, from: number): HeadProgress {
    if (this.#bytes > 0) return this.#takeMore(chunk, from);
    const start = skipEmptyLines(chunk, from);
    const found = chunk.indexOf(emptyLine, start);
    if (found < 0) return start < chunk.length ? this.#takeMore(chunk, start) : "more";
    if (found - start > this.#options.mostBytes) return "too large";
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
    if (this.#bytes > this.#options.mostBytes + emptyLine.length) return "too large";
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

  /** Where the head ends in `chunk`; -1 when it does not. */
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
    this.#isStartKnown = text.includes("\r\n") || text.length > longestStart;
    return this.#options.mayBecomeHead(text) ? "more" : "malformed";
  }
}

/** RFC 9112, 2.2: some clients send an empty line behind a body that has none. */
function skipEmptyLines(chunk: Buffer, from: number): number {
  let at = from;
  while (chunk[at] === carriageReturn && chunk[at + 1] === lineFeed) at += 2;
  return at;
}

/** Whether a line ends in LF without CR, or has a CR in its midst. */
function breaksLine(part: Buffer, before: number): boolean {
  let last = before;
  for (const byte of part) {
    if ((byte === lineFeed) !== (last === carriageReturn)) return true;
    last = byte;
  }
  return false;
}
