import { createInflate, type Inflate } from "node:zlib";
import { headerDictionary, headerDictionaryId } from "./dictionary.ts";

/** Names are in lower case. Repeated values are joined with a comma. */
export type Headers = ReadonlyMap<string, string>;

/** The limit of all uncompressed headers of a stream. A few hundred bytes are usual. */
const maxHeaderBytes = 64 * 1024;
const maxHeaders = 100;

/** Reads the header blocks of one direction of a connection. They share one zlib stream, so all must be read in order. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: headerDictionary });
  #parts: Buffer[] = [];
  #length = 0;

  constructor() {
    // An error closes the stream, which `read` detects.
    this.#inflate.on("error", () => undefined);
    this.#inflate.on("data", (part: Buffer) => {
      this.#parts.push(part);
      this.#length += part.length;
      if (this.#length > maxHeaderBytes) this.#inflate.destroy();
    });
  }

  /** Returns undefined for an invalid or too large block. The connection must then be closed. */
  async read(block: Buffer): Promise<Headers | undefined> {
    [this.#parts, this.#length] = [[], 0];
    await new Promise<void>((resolve) => {
      this.#inflate.once("close", resolve);
      this.#inflate.write(block, () => {
        this.#inflate.off("close", resolve);
        resolve();
      });
    });
    return this.#inflate.destroyed ? undefined : parseHeaders(Buffer.concat(this.#parts));
  }

  close(): void {
    this.#inflate.destroy();
  }
}

function parseHeaders(plain: Buffer): Headers | undefined {
  const headers = new Map<string, string>();
  let at = 0;
  const number = (): number => {
    at += 4;
    return at <= plain.length ? plain.readUInt32BE(at - 4) : Number.POSITIVE_INFINITY;
  };
  const text = (): string | undefined => {
    const length = number();
    at += length;
    return at <= plain.length ? plain.toString("utf8", at - length, at) : undefined;
  };
  const count = number();
  if (count > maxHeaders) return undefined;
  for (let index = 0; index < count; index += 1) {
    const [name, value] = [text(), text()];
    if (name === undefined || value === undefined) return undefined;
    headers.set(name.toLowerCase(), value.replaceAll("\0", ","));
  }
  return at === plain.length ? headers : undefined;
}

const longestStoredBlock = 0xff_ff;

/**
 * Writes header blocks for one direction of a connection. A server's headers have few bytes, so they are written as stored
 * (uncompressed) deflate blocks, which every reader accepts and which need no state.
 */
export class HeaderWriter {
  #begun = false;

  write(headers: Headers): Buffer {
    const plain = Buffer.concat([uint32(headers.size), ...[...headers].flat().flatMap(counted)]);
    const start = this.#begun ? [] : [Buffer.from([0x78, 0xbb]), uint32(headerDictionaryId)];
    this.#begun = true;
    // The empty block at the end makes a reader flush what came before it.
    return Buffer.concat([...start, ...storedBlocks(plain), stored(Buffer.alloc(0))]);
  }
}

function storedBlocks(plain: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < plain.length; at += longestStoredBlock)
    blocks.push(stored(plain.subarray(at, at + longestStoredBlock)));
  return blocks;
}

function stored(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(bytes.length ^ 0xff_ff, 3);
  return Buffer.concat([head, bytes]);
}

function counted(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  return [uint32(bytes.length), bytes];
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
