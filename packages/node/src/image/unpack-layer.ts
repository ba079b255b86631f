import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { type Readable, type Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { messageOf, NodeError } from "../errors.ts";
import { writeEntries } from "./write-entries.ts";

/** The cost of a file besides its content: an inode and a block. */
const entryCost = 16 * 1024;
const checkEveryBytes = 32 * 1024 * 1024;

/** The bytes and files that one image may unpack to. All its layers share one budget. */
export class UnpackBudget {
  #bytes: number;
  #entries: number;
  readonly #limits: UnpackLimits;
  readonly #checkRoom: () => Promise<void>;
  #untilCheck = 0;

  /** `checkRoom` is called every 32 MiB while the image is unpacked, and throws when the disk is too full. */
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
  /** The size of all layers of an image, both compressed and unpacked. Default: 32 GiB. */
  readonly imageBytes: number;
  /** Files and folders in all layers. Default: 2,000,000. */
  readonly imageEntries: number;
}

export interface Unpacked {
  /** Hexadecimal digits of the SHA-256 of the archive. */
  readonly diffId: string;
  readonly sizeBytes: number;
}

/**
 * Unpacks a layer's archive, compressed or not, into an empty folder, with overlayfs whiteouts. On failure the folder
 * contains a part of the layer. The caller must compare the digest before the folder is used.
 */
export async function unpackLayer(blob: string, folder: string, budget: UnpackBudget): Promise<Unpacked> {
  const { streams, result, begin } = await openLayer(blob, budget);
  try {
    await writeEntries(streams, folder, async ({ size }) => {
      begin(size ?? 0);
      await budget.takeEntry();
    });
  } catch (error) {
    throw cannotUnpack(error);
  }
  return result();
}

/** Computes the digest and size of an unpacked layer without writing it. */
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
  /** The blob, its decoder, and a generator that counts and hashes the decoded bytes. */
  readonly streams: readonly [Readable, ...Transform[], Meter];
  readonly result: () => Unpacked;
  /** Must be called at the start of each entry, with the size of its content. */
  readonly begin: (sizeBytes: number) => void;
}

/** The limit for headers with long names and attributes between two entries, which tar-stream holds in memory. */
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

/** Chooses the decoder by the first bytes, because the media type in a manifest is not always right. */
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
  return new NodeError("ErrImagePull", `Cannot unpack the image: it has ${what}, which is the limit of this node`);
}
