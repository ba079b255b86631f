import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { type Readable, type Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { extract } from "tar-stream";
import { messageOf, NodeError } from "../errors.ts";
import { LayerWriter } from "./layer-writer.ts";

/** A file costs an inode and a block besides its content. */
const entryCost = 16 * 1024;
const checkEveryBytes = 32 * 1024 * 1024;

/** How much one image may unpack to. Shared by its layers, each of which takes from it. */
export class UnpackBudget {
  #bytes: number;
  #entries: number;
  readonly #limits: UnpackLimits;
  readonly #checkRoom: () => Promise<void>;
  #untilCheck = 0;

  /** `checkRoom` is asked now and then while the image is unpacked, and fails when the disk is too full. */
  constructor(limits: UnpackLimits, checkRoom: () => Promise<void> = () => Promise.resolve()) {
    this.#limits = limits;
    this.#checkRoom = checkRoom;
    this.#bytes = limits.imageBytes;
    this.#entries = limits.imageEntries;
  }

  async takeBytes(count: number): Promise<void> {
    this.#bytes -= count;
    if (this.#bytes < 0) throw tooMuch(`more than ${this.#limits.imageBytes} bytes`);
    await this.#spend(count);
  }

  async takeEntry(): Promise<void> {
    this.#entries--;
    if (this.#entries < 0) throw tooMuch(`more than ${this.#limits.imageEntries} files`);
    await this.#spend(entryCost);
  }

  async #spend(count: number): Promise<void> {
    this.#untilCheck -= count;
    if (this.#untilCheck > 0) return;
    this.#untilCheck = checkEveryBytes;
    await this.#checkRoom();
  }
}

export interface UnpackLimits {
  /** Of an image's layers together, unpacked as well as in the registry. */
  readonly imageBytes: number;
  readonly imageEntries: number;
}

export interface Unpacked {
  /** Hexadecimal digits of the SHA-256 of the archive. */
  readonly diffId: string;
  readonly sizeBytes: number;
}

/**
 * Unpacks a layer's archive, compressed or not, into an empty folder, with the marks overlayfs reads. On failure the
 * folder holds a part of it. The caller compares the digest before anybody sees the folder.
 */
export async function unpackLayer(blob: string, folder: string, budget: UnpackBudget): Promise<Unpacked> {
  const { streams, result, begin } = await openLayer(blob, budget);
  const entries = extract();
  const feeding = pipeline([...streams, entries]);
  // Told by the loop below, which reads what is fed.
  feeding.catch(() => undefined);
  try {
    const writer = new LayerWriter(folder);
    for await (const entry of entries) {
      begin(entry.header.size ?? 0);
      await budget.takeEntry();
      await writer.write(entry);
    }
    await feeding;
    await writer.end();
  } catch (error) {
    entries.destroy();
    await feeding.catch(() => undefined);
    throw cannotUnpack(error);
  }
  return result();
}

/** What a layer unpacks to, without writing anything. */
export async function hashLayer(blob: string, budget: UnpackBudget): Promise<Unpacked> {
  const { streams, result, begin } = await openLayer(blob, budget);
  begin(Number.POSITIVE_INFINITY);
  try {
    await pipeline([...streams, new Writable({ write: (_chunk, _encoding, done) => done() })]);
  } catch (error) {
    throw cannotUnpack(error);
  }
  return result();
}

type Meter = (chunks: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>;

interface OpenLayer {
  /** The blob, its decoder, and one that counts and hashes what comes out. */
  readonly streams: readonly [Readable, ...Transform[], Meter];
  readonly result: () => Unpacked;
  /** To be told of each entry as it begins, with the size of its content. */
  readonly begin: (sizeBytes: number) => void;
}

/**
 * What may lie between the content of an entry and the next entry: headers with long names and attributes, which the reader
 * of archives holds in memory as a whole.
 */
const longestHeaders = 8 * 2 ** 20;

async function openLayer(blob: string, budget: UnpackBudget): Promise<OpenLayer> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  let nextBy = longestHeaders;
  const meter = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > nextBy) throw tooMuch(`a header of more than ${longestHeaders} bytes`);
      hash.update(chunk);
      await budget.takeBytes(chunk.length);
      yield chunk;
    }
  };
  const streams = [createReadStream(blob), ...(await decoderOf(blob)), meter] as const;
  return {
    streams,
    result: () => ({ diffId: hash.digest("hex"), sizeBytes }),
    begin: (contentBytes) => {
      nextBy = sizeBytes + contentBytes + longestHeaders;
    },
  };
}

function cannotUnpack(error: unknown): NodeError {
  if (error instanceof NodeError) return error;
  return new NodeError("ErrImagePull", `Cannot unpack a layer: ${messageOf(error)}`, { cause: error });
}

/** By its first bytes: what a manifest calls a layer is not always what it is. */
async function decoderOf(blob: string): Promise<Transform[]> {
  const file = await open(blob);
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer.readUInt16BE() === 0x1f8b) return [createGunzip()];
    return buffer.readUInt32LE() === 0xfd2f_b528 ? [createZstdDecompress()] : [];
  } finally {
    await file.close();
  }
}

function tooMuch(what: string): NodeError {
  return new NodeError("ErrImagePull", `Cannot unpack the image: it has ${what}, the limit of this node`);
}
