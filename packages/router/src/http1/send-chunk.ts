import type { Writable } from "node:stream";

/** Of smaller ones the garbage collector takes care cheaply enough. */
const largeBytes = 16 * 1024;

/**
 * Writes a chunk that was read from a connection and is needed by nobody else, and gives its memory back when it has been
 * sent. The garbage collector would do that too, but memory outside its heap makes it look through all of that: half of
 * the processor time of a large transfer. A part of a larger piece of memory is left alone.
 */
export function sendChunk(destination: Writable, chunk: Buffer): void {
  const { buffer } = chunk;
  const isAll = chunk.length >= largeBytes && chunk.length === buffer.byteLength && buffer instanceof ArrayBuffer;
  if (isAll) destination.write(chunk, () => void buffer.transfer(0));
  else destination.write(chunk);
}
