import { areHeaderLines } from "./parse-head.ts";

/** The chunked coding of a body is not valid, so its end cannot be found. */
export class MalformedBody extends Error {
  override readonly name = "MalformedBody";

  constructor(detail: string) {
    super(`Cannot decode a chunked body: ${detail}`);
  }
}

/**
 * - `size`: reads the digits of a chunk's size.
 * - `extension`: reads the extensions after them, which are validated and dropped.
 * - `size-end`: expects the LF of that line.
 * - `data`: reads the chunk.
 * - `data-end`, `data-end-2`: expects its CR, then its LF.
 * - `trailer`: reads the trailers up to an empty line, which are validated and dropped.
 * - `whole`: the body is complete.
 */
type State = "size" | "extension" | "size-end" | "data" | "data-end" | "data-end-2" | "trailer" | "whole";

const [carriageReturn, lineFeed, semicolon] = [0x0d, 0x0a, 0x3b];
/** Twelve hexadecimal digits: 256 TiB. */
const maxDigits = 12;
/** The limit for all extensions and trailers of one body. */
const maxIdleBytes = 16 * 1024;

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
/** RFC 9112, 7.1.1, without the spaces it tolerates and without escapes. */
const extensions: RegExp = new RegExp(
  `^(?:;${token}(?:=(?:${token}|"[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]*"))?)*$`,
);

/** An incremental, strict decoder of the chunked coding. */
export class ChunkedDecoder {
  #state: State = "size";
  #digits = 0;
  #left = 0;
  #idleBytes = 0;
  /** The extensions or trailers received so far. */
  #idle = "";

  get isWhole(): boolean {
    return this.#state === "whole";
  }

  /** Delivers the data in `chunk` and returns where the body's bytes end in it. Throws `MalformedBody`. */
  take(chunk: Buffer, from: number, deliver: (data: Buffer) => void): number {
    let at = from;
    while (at < chunk.length && this.#state !== "whole") {
      if (this.#state === "data") {
        const end = Math.min(chunk.length, at + this.#left);
        this.#left -= end - at;
        if (this.#left === 0) this.#state = "data-end";
        deliver(chunk.subarray(at, end));
        at = end;
      } else {
        this.#step(chunk[at] as number);
        at += 1;
      }
    }
    return at;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case "size":
        return this.#size(byte);
      case "extension":
        return this.#extension(byte);
      case "size-end":
        expect(byte === lineFeed, "a size ends in a bare CR");
        this.#digits = 0;
        this.#idle = "";
        this.#state = this.#left === 0 ? "trailer" : "data";
        return;
      case "data-end":
        expect(byte === carriageReturn, "a chunk is longer than its size");
        this.#state = "data-end-2";
        return;
      case "data-end-2":
        expect(byte === lineFeed, "a chunk ends in a bare CR");
        this.#state = "size";
        return;
      default:
        return this.#trailerByte(byte);
    }
  }

  #size(byte: number): void {
    const digit = digitOf(byte);
    if (digit >= 0) {
      expect(this.#digits < maxDigits, "a size has too many digits");
      this.#digits += 1;
      this.#left = this.#left * 16 + digit;
      return;
    }
    expect(this.#digits > 0, "a size has no digits");
    expect(byte === carriageReturn || byte === semicolon, "a size is not a number");
    this.#state = byte === semicolon ? "extension" : "size-end";
    this.#idle = ";";
  }

  #extension(byte: number): void {
    expect(byte !== lineFeed, "a size ends in a bare LF");
    if (byte !== carriageReturn) return this.#keepIdle(byte);
    expect(extensions.test(this.#idle), "an extension is malformed");
    this.#idle = "";
    this.#state = "size-end";
  }

  #trailerByte(byte: number): void {
    this.#keepIdle(byte);
    if (byte !== lineFeed) return;
    const isEnd = this.#idle === "\r\n" || this.#idle.endsWith("\r\n\r\n");
    if (!isEnd) return;
    expect(areHeaderLines(this.#idle.slice(0, -2)), "a trailer is malformed");
    this.#state = "whole";
  }

  #keepIdle(byte: number): void {
    this.#idle += String.fromCharCode(byte);
    this.#idleBytes += 1;
    expect(this.#idleBytes <= maxIdleBytes, "its extensions and trailers are too long");
  }
}

function expect(holds: boolean, detail: string): void {
  if (!holds) throw new MalformedBody(detail);
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
