import { areHeaderLines } from "./parse-head.ts";

/** The chunks of a body do not obey the grammar: nobody knows where it ends. */
export class MalformedBody extends Error {
  override readonly name = "MalformedBody";

  constructor(detail: string) {
    super(`Cannot read the chunks of a body: ${detail}`);
  }
}

/**
 * - `size`: in the digits of a chunk's size.
 * - `extension`: behind them, up to the end of the line. What stands there is checked and dropped.
 * - `size-end`: the LF of that line is awaited.
 * - `data`: in the chunk itself.
 * - `data-end`, `data-end-2`: its CR, its LF.
 * - `trailer`: behind the last chunk, up to an empty line. What stands there is checked and dropped.
 * - `whole`: all of it was read.
 */
type State = "size" | "extension" | "size-end" | "data" | "data-end" | "data-end-2" | "trailer" | "whole";

const [carriageReturn, lineFeed, semicolon] = [0x0d, 0x0a, 0x3b];
/** Twelve hexadecimal digits: 256 TiB. */
const mostDigits = 12;
/** Of extensions and trailers in one body: what carries no data must not be endless. */
const mostIdleBytes = 16 * 1024;

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
/** RFC 9112, 7.1.1, without the spaces it tolerates and without escapes. */
const extensions: RegExp = new RegExp(
  `^(?:;${token}(?:=(?:${token}|"[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]*"))?)*$`,
);

/** Takes a chunked body apart, strictly, as its bytes come. */
export class ChunkedDecoder {
  #state: State = "size";
  #digits = 0;
  #left = 0;
  #idleBytes = 0;
  /** The extensions or trailers under way. */
  #idle = "";

  get isWhole(): boolean {
    return this.#state === "whole";
  }

  /** Hands on the data in `chunk`, and says where the body's bytes end in it. Throws `MalformedBody`. */
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
      expect(this.#digits < mostDigits, "a size has too many digits");
      this.#digits += 1;
      this.#left = this.#left * 16 + digit;
      return;
    }
    expect(this.#digits > 0, "a size has no digits");
    expect(byte === carriageReturn || byte === semicolon, "a size is no number");
    this.#state = byte === semicolon ? "extension" : "size-end";
    this.#idle = ";";
  }

  #extension(byte: number): void {
    expect(byte !== lineFeed, "a size ends in a bare LF");
    if (byte !== carriageReturn) return this.#keepIdle(byte);
    expect(extensions.test(this.#idle), "an extension obeys no grammar");
    this.#idle = "";
    this.#state = "size-end";
  }

  #trailerByte(byte: number): void {
    this.#keepIdle(byte);
    if (byte !== lineFeed) return;
    const isEnd = this.#idle === "\r\n" || this.#idle.endsWith("\r\n\r\n");
    if (!isEnd) return;
    expect(areHeaderLines(this.#idle.slice(0, -2)), "a trailer is no header");
    this.#state = "whole";
  }

  #keepIdle(byte: number): void {
    this.#idle += String.fromCharCode(byte);
    this.#idleBytes += 1;
    expect(this.#idleBytes <= mostIdleBytes, "its extensions and trailers are too long");
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
