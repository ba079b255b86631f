import type { IncomingMessage } from "node:http";
import { chunksOf } from "../../http/read-body.ts";
import { invalidRequest } from "./execd-error.ts";

/** A part of a form. Its content must be read before the next part; what is left of it is skipped. */
export interface Part {
  readonly name: string;
  readonly content: AsyncIterable<Buffer>;
}

const maxHeaderBytes = 16 * 1024;
const maxParts = 20_000;

/** The boundary in a `Content-Type`. Undefined if it is not that of a form. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const [, quoted, plain] =
    /^multipart\/form-data;(?:[^"]{0,200};)? ?boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i.exec(
      contentType ?? "",
    ) ?? [];
  return quoted ?? plain;
}

/** The parts of a form, as they arrive. */
export async function* readParts(request: IncomingMessage, boundary: string): AsyncGenerator<Part> {
  yield* partsOf(chunksOf(request), boundary);
}

export async function* partsOf(body: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<Part> {
  const bytes = new Bytes(body);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // A body begins with a delimiter whose line end is missing.
  bytes.prepend(Buffer.from("\r\n"));
  for await (const _ of bytes.until(delimiter)) {
    // Text before the first part has no meaning.
  }
  for (let count = 0; !(await bytes.startsWith("--")); count++) {
    if (count >= maxParts) throw invalidRequest(`A form can have ${maxParts} parts`);
    const head = (await bytes.line(Buffer.from("\r\n\r\n"), maxHeaderBytes)).toString("utf8");
    const content = bytes.until(delimiter);
    yield { name: nameIn(head), content };
    for await (const _ of content) {
      // The rest of a part that was not read.
    }
  }
}

function nameIn(head: string): string {
  const line = head.split("\r\n").find((one) => /^content-disposition:/i.test(one)) ?? "";
  const [, quoted, plain] = /; ?name=(?:"([^"]{0,200})"|([^\s;"]{1,200}))/i.exec(line) ?? [];
  return quoted ?? plain ?? "";
}

/** Bytes that arrive, and the part of them that was not used yet. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  prepend(bytes: Buffer): void {
    this.#rest = Buffer.concat([bytes, this.#rest]);
  }

  async startsWith(text: string): Promise<boolean> {
    while (this.#rest.length < text.length) await this.#more();
    return this.#rest.subarray(0, text.length).toString("latin1") === text;
  }

  /** What is in front of `end`, which is consumed. */
  async line(end: Buffer, maxBytes: number): Promise<Buffer> {
    for (;;) {
      const at = this.#rest.indexOf(end);
      if (at > maxBytes || (at < 0 && this.#rest.length > maxBytes))
        throw invalidRequest("The head of a part is too long");
      if (at >= 0) return this.#take(at, end.length);
      await this.#more();
    }
  }

  /** The same in pieces. The iterator ends after `end`, also if it is asked again. */
  until(end: Buffer): AsyncIterable<Buffer> & AsyncIterator<Buffer> {
    let isOver = false;
    const next = async (): Promise<IteratorResult<Buffer, undefined>> => {
      while (!isOver) {
        const at = this.#rest.indexOf(end);
        isOver = at >= 0;
        // The beginning of `end` may be in the last bytes.
        const length = isOver ? at : this.#rest.length - end.length + 1;
        if (length > 0) return { done: false, value: this.#take(length, isOver ? end.length : 0) };
        if (isOver) this.#take(0, end.length);
        else await this.#more();
      }
      return { done: true, value: undefined };
    };
    // Without `return`: leaving a loop early must not end it.
    const iterator = { next, [Symbol.asyncIterator]: () => iterator };
    return iterator;
  }

  #take(bytes: number, skipped: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes + skipped);
    return taken;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done === true) throw invalidRequest("The form is not complete");
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
  }
}
