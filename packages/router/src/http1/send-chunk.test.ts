import { once } from "node:events";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { sendChunk } from "./send-chunk.ts";

/** The bytes that arrived, and the size of the chunk's memory after it was sent. */
async function send(chunk: Buffer): Promise<{ arrived: number; left: number }> {
  let arrived = 0;
  const destination = new Writable({
    write: (bytes: Buffer, _, callback) => {
      arrived += bytes.filter((byte) => byte === 7).length;
      setImmediate(callback);
    },
  });
  sendChunk(destination, chunk);
  destination.end();
  await once(destination, "finish");
  return { arrived, left: chunk.buffer.byteLength };
}

test("frees the memory of a chunk after it was sent", async () => {
  expect(await send(Buffer.from(new ArrayBuffer(65_536)).fill(7))).toEqual({ arrived: 65_536, left: 0 });
});

test.for<[string, () => Buffer, number]>([
  ["a part of a piece", () => Buffer.from(new ArrayBuffer(65_536), 1).fill(7), 65_536],
  ["the front of a piece", () => Buffer.from(new ArrayBuffer(65_536), 0, 65_535).fill(7), 65_536],
  ["a small piece", () => Buffer.from(new ArrayBuffer(1000)).fill(7), 1000],
])("%s keeps its memory", async ([, make, left]) => {
  const chunk = make();
  const { length } = chunk;
  expect(await send(chunk)).toEqual({ arrived: length, left });
});
