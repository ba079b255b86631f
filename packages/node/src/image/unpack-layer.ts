import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { extract } from "tar-stream";
import { messageOf, NodeError } from "../errors.ts";
import { LayerWriter } from "./layer-writer.ts";

/** How much one image may unpack to. Shared by its layers, each of which takes from it. */
export class UnpackBudget {
  #bytes: number;
  #entries: number;
  readonly #limits: UnpackLimits;

  constructor(limits: UnpackLimits) {
    this.#limits = limits;
    this.#bytes = limits.imageBytes;
    this.#entries = limits.imageEntries;
  }

  takeBytes(count: number): void {
    this.#bytes -= count;
    if (this.#bytes < 0) throw tooMuch(`more than ${this.#limits.imageBytes} bytes`);
  }

  takeEntry(): void {
    this.#entries--;
    if (this.#entries < 0) throw tooMuch(`more than ${this.#limits.imageEntries} files`);
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
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      try {
        budget.takeBytes(chunk.length);
        sizeBytes += chunk.length;
        hash.update(chunk);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  const decoders = await decoderOf(blob);
  const entries = extract();
  const feeding = pipeline([createReadStream(blob), ...decoders, meter, entries]);
  // Told by the loop below, which reads what is fed.
  feeding.catch(() => undefined);
  try {
    const writer = new LayerWriter(folder);
    for await (const entry of entries) {
      budget.takeEntry();
      await writer.write(entry);
    }
    await feeding;
    writer.end();
  } catch (error) {
    entries.destroy();
    await feeding.catch(() => undefined);
    if (error instanceof NodeError) throw error;
    throw new NodeError("ErrImagePull", `Cannot unpack a layer: ${messageOf(error)}`, { cause: error });
  }
  return { diffId: hash.digest("hex"), sizeBytes };
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
