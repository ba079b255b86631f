import type { Writable } from "node:stream";

/** Smaller chunks are left to the garbage collector. */
const largeBytes = 16 * 1024;

/**
 * Writes a chunk that nothing else refers to, and frees its memory when it has been sent. The garbage collector would free
 * it too, but memory outside its heap triggers full collections, which took half of the processor time of a large
 * transfer. A chunk that is part of a larger buffer is not freed.
 */
export function sendChunk(destination: Writable, chunk: Buffer): void {
  const { buffer } = chunk;
  const isAll = chunk.length >= largeBytes && chunk.length === buffer.byteLength && buffer instanceof ArrayBuffer;
  if (isAll) destination.write(chunk, () => void buffer.transfer(0));
  else destination.write(chunk);
}
