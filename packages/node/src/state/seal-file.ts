import { createHash, hkdfSync, randomBytes, subtle, type webcrypto } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { StateError } from "./state-error.ts";
import type { StateKey, StateKeys } from "./state-keys.ts";

/**
 * Sealed files: AES-256-GCM in chunks, as in the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár (2015).
 *
 *     header   magic (8), id of the master key (8), salt (32), size of a chunk (4)
 *     chunk    ciphertext, tag (16)
 *
 * The file's key is derived from the master key and the random salt, so nonces need not be random: a nonce is the number of the
 * chunk and a byte that is 1 in the last chunk only. Chunks cannot be left out, added, repeated or moved without being noticed. All of
 * them authenticate the header and the name that the file was sealed under, so a file cannot take the place of another.
 */
const magic = Buffer.from("ASSEAL1\n", "latin1");
const headerBytes = 52;
const tagBytes = 16;
const nonceBytes = 12;
const saltAt = 16;
const sizeAt = 48;

/** Of the plain text. Large enough that the work per chunk does not matter. */
export const sealChunkBytes: number = 1024 * 1024;
const largestChunkBytes = 16 * 1024 * 1024;

/** Chunks that are worked on at the same time, by the threads of Node's pool. */
const ahead = 4;

/** Writes a sealed file with the content of a stream, and syncs it. Returns the number of plain bytes. */
export async function sealFile(
  content: AsyncIterable<Uint8Array>,
  path: string,
  { key, name, chunkBytes = sealChunkBytes }: { key: StateKey; name: string; chunkBytes?: number },
): Promise<number> {
  const header = Buffer.alloc(headerBytes);
  magic.copy(header);
  Buffer.from(key.id, "hex").copy(header, magic.length);
  randomBytes(sizeAt - saltAt).copy(header, saltAt);
  header.writeUInt32BE(chunkBytes, sizeAt);
  const cipher = await cipherOf(key, header, name);
  await using file = await open(path, "wx", 0o600);
  await file.write(header);
  let bytes = 0;
  const sealed = mapAhead(chunksOf(content, chunkBytes), ({ chunk, index, isLast }) => {
    bytes += chunk.length;
    return subtle.encrypt(cipher.parameters(index, isLast), cipher.key, chunk);
  });
  for await (const chunk of sealed) await writeAll(file, new Uint8Array(chunk));
  await file.sync();
  return bytes;
}

/**
 * The content of a sealed file, chunk by chunk. Every chunk is authentic when it is given out; the file as a whole is when the
 * generator ends. Throws `KeyUnavailable` without the key, and `ImageDamaged` for everything that `sealFile` did not write.
 */
export async function* openSealed(
  path: string,
  { keys, name }: { keys: StateKeys; name: string },
): AsyncGenerator<Uint8Array> {
  await using file = await open(path).catch((cause: unknown) => {
    throw damaged(name, "cannot be read", cause);
  });
  const { size } = await file.stat();
  const header = Buffer.alloc(headerBytes);
  const { bytesRead } = await file.read(header, 0, headerBytes, 0);
  if (bytesRead < headerBytes || !header.subarray(0, magic.length).equals(magic)) {
    throw damaged(name, "is not an encrypted file");
  }
  const chunkBytes = header.readUInt32BE(sizeAt);
  const count = Math.ceil((size - headerBytes) / (chunkBytes + tagBytes));
  if (chunkBytes === 0 || chunkBytes > largestChunkBytes || count === 0) throw damaged(name, "has an invalid header");
  const key = keys.named(header.subarray(magic.length, saltAt).toString("hex"));
  const cipher = await cipherOf(key, header, name);
  yield* mapAhead(sealedChunks(file, { size, chunkBytes, count }), async ({ chunk, index, isLast }) => {
    const opened = await subtle.decrypt(cipher.parameters(index, isLast), cipher.key, chunk).catch((cause: unknown) => {
      throw damaged(name, "has been changed, or belongs to another image", cause);
    });
    return new Uint8Array(opened);
  });
}

function damaged(name: string, why: string, cause?: unknown): StateError {
  const file = name.slice(name.lastIndexOf("/") + 1);
  return new StateError("ImageDamaged", `Cannot read the image: its file ${file} ${why}`, { cause });
}

interface FileCipher {
  readonly key: webcrypto.CryptoKey;
  parameters(index: number, isLast: boolean): Parameters<typeof subtle.encrypt>[0];
}

async function cipherOf(master: StateKey, header: Buffer, name: string): Promise<FileCipher> {
  const salt = header.subarray(saltAt, sizeAt);
  const derived = hkdfSync("sha256", master.secret, salt, "agent-sandbox sealed file 1", 32);
  const key = await subtle.importKey("raw", derived, "AES-GCM", false, ["encrypt", "decrypt"]);
  const additionalData = createHash("sha256").update(header).update(name, "utf8").digest();
  return {
    key,
    parameters: (index, isLast) => {
      const iv = Buffer.alloc(nonceBytes);
      iv.writeUInt32BE(index, nonceBytes - 5);
      iv.writeUInt8(isLast ? 1 : 0, nonceBytes - 1);
      return { name: "AES-GCM", iv, additionalData, tagLength: tagBytes * 8 };
    },
  };
}

interface Chunk {
  readonly chunk: Uint8Array<ArrayBuffer>;
  readonly index: number;
  readonly isLast: boolean;
}

/** Cuts a stream into chunks of one size. The last one may be shorter; an empty stream has one empty chunk. */
async function* chunksOf(content: AsyncIterable<Uint8Array>, chunkBytes: number): AsyncGenerator<Chunk> {
  let parts: Uint8Array[] = [];
  let filled = 0;
  let index = 0;
  for await (const part of content) {
    for (let used = 0; used < part.length; ) {
      // A full chunk waits for the next byte, because only then it is not the last one.
      if (filled === chunkBytes) {
        yield { chunk: joined(parts), index, isLast: false };
        [parts, filled, index] = [[], 0, index + 1];
      }
      const taken = part.subarray(used, used + chunkBytes - filled);
      parts.push(taken);
      filled += taken.length;
      used += taken.length;
    }
  }
  yield { chunk: joined(parts), index, isLast: true };
}

/** Files are read in parts of a chunk's size, which need not be copied. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? (first as Uint8Array<ArrayBuffer>) : Buffer.concat(parts);
}

async function* sealedChunks(
  file: FileHandle,
  { size, chunkBytes, count }: { size: number; chunkBytes: number; count: number },
): AsyncGenerator<Chunk> {
  for (let index = 0, at = headerBytes; index < count; index++) {
    const chunk = new Uint8Array(Math.min(chunkBytes + tagBytes, size - at));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    at += bytesRead;
    yield { chunk: chunk.subarray(0, bytesRead), index, isLast: index === count - 1 };
  }
}

/** Applies a function to several values at the same time. The results keep the order. */
async function* mapAhead<T, R>(values: AsyncIterable<T>, apply: (value: T) => Promise<R>): AsyncGenerator<R> {
  const pending: Promise<R>[] = [];
  for await (const value of values) {
    const result = apply(value);
    // Awaited in order below; a failure must not count as unhandled until then.
    result.catch(() => undefined);
    pending.push(result);
    if (pending.length >= ahead) yield (await pending.shift()) as R;
  }
  for (const result of pending) yield await result;
}

export async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}
