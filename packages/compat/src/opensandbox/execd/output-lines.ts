import { StringDecoder } from "node:string_decoder";

/** A line without an end is sent in pieces of this many characters. */
const maxLineLength = 64 * 1024;

/**
 * Splits the output of a process into lines without their ends, as clients want it: they put the ends back. `\n`, `\r\n` and `\r` end
 * a line, and an empty line is one line feed.
 */
export class OutputLines {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  /** The last character was a carriage return, whose line feed may follow. */
  #afterReturn = false;

  *push(chunk: Buffer): Generator<string> {
    yield* this.#split(this.#decoder.write(chunk));
  }

  /** The last line, if it has no end. */
  *end(): Generator<string> {
    yield* this.#split(this.#decoder.end());
    if (this.#rest !== "") yield this.#rest;
    this.#rest = "";
  }

  *#split(text: string): Generator<string> {
    if (text === "") return;
    const start = this.#afterReturn && text.startsWith("\n") ? text.slice(1) : text;
    this.#afterReturn = text.endsWith("\r");
    const lines = (this.#rest + start).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) yield line === "" ? "\n" : line;
    for (; this.#rest.length > maxLineLength; this.#rest = this.#rest.slice(maxLineLength)) {
      yield this.#rest.slice(0, maxLineLength);
    }
  }
}
