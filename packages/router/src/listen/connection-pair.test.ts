import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { connectionPair } from "./connection-pair.ts";

/** All that can be read. Reading with an iterator would destroy the connection at the end. */
async function text(end: Duplex): Promise<string> {
  let read = "";
  end.on("data", (chunk: Buffer) => {
    read += chunk.toString();
  });
  await once(end, "end");
  return read;
}

test("each end reads what the other one writes, until the other one ends", async () => {
  const { client, server } = connectionPair();
  client.end("question");
  expect(await text(server)).toBe("question");
  server.end("answer");
  expect(await text(client)).toBe("answer");
});

test("a writer waits while the other end does not read", async () => {
  const { client, server } = connectionPair();
  let written = 0;
  while (client.write("x".repeat(16_384))) written += 1;
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect([written, client.writableNeedDrain]).toEqual([expect.any(Number), true]);
  const drained = once(client, "drain");
  server.resume();
  await drained;
  expect(client.writableNeedDrain).toBe(false);
});

test("bytes stay valid when the writer frees its buffer", async () => {
  const { client, server } = connectionPair();
  const bytes = Buffer.alloc(32_768, "a");
  client.write(bytes, () => bytes.fill("b"));
  client.end();
  expect(await text(server)).toBe("a".repeat(32_768));
});

test("an end that is destroyed closes the other one", async () => {
  const { client, server } = connectionPair();
  server.write("not read");
  client.destroy();
  await once(server, "close");
  expect(server.destroyed).toBe(true);
});

test("an end that is closed after its last byte loses none", async () => {
  const { client, server } = connectionPair();
  server.write("the last response");
  server.destroySoon();
  await once(server, "close");
  expect(await text(client)).toBe("the last response");
  // Nobody reads this, and the writer does not wait for ever.
  client.end("x".repeat(100_000));
  await once(client, "finish");
});
