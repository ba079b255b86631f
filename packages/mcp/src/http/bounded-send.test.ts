import { expect, test } from "vitest";
import { boundedSend } from "./bounded-send.ts";

/** How many bytes of an endless or long answer are read. */
async function readFrom(url: string, chunks: Iterable<Uint8Array>, method = "GET"): Promise<number> {
  const send = boundedSend(async () => ({
    status: 200,
    header: () => undefined,
    body: (async function* () {
      yield* chunks;
    })(),
  }));
  let total = 0;
  for await (const chunk of (await send({ method, url, headers: {} })).body) total += chunk.length;
  return total;
}

function* repeat(text: string, times: number): Generator<Uint8Array> {
  for (let count = 0; count < times; count++) yield Buffer.from(text);
}
function* split(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const message = (length: number): Buffer => {
  const bytes = Buffer.alloc(5 + length, 0xff);
  bytes[0] = 0;
  bytes.writeUInt32BE(length, 1);
  return bytes;
};

const block = "x".repeat(65_536);
const router = "http://router";
const started = `${router}/process.v1.ProcessService/Start`;

test.for([
  ["a whole answer of the runtime", `${router}/v1/usage?a=b`, 129],
  ["a call of a process", `${router}/process.v1.ProcessService/List`, 129],
  ["a page of a list", "https://api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes?limit=500", 1025],
  ["one event of a watch", "https://api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes?watch=true", 129],
  ["one line of a tree", `${router}/v1/tree/tmp`, 2],
] as const)("%s ends at its limit", async ([, url, blocks]) => {
  expect(await readFrom(url, repeat(block, blocks - 1))).toBe((blocks - 1) * block.length);
  await expect(readFrom(url, repeat(block, blocks))).rejects.toThrow("bytes of one answer");
});

test("a watch lasts", async () => {
  const url = "https://api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes?watch=true";
  expect(await readFrom(url, repeat(`${block}\n`, 1500))).toBe(1500 * 65_537);
});

test("many lines of a tree are read, one long line in the middle of a chunk is not", async () => {
  const url = `${router}/v1/tree/`;
  expect(await readFrom(url, repeat(`${"x".repeat(60_000)}\n${"y".repeat(5000)}`, 100))).toBe(6_500_100);
  const lines = (length: number): Uint8Array => Buffer.from(`a\n${"x".repeat(length)}\nb`);
  for (const size of [7, 50_000]) {
    expect(await readFrom(url, split(lines(65_000), size))).toBe(65_004);
    await expect(readFrom(url, split(lines(120_000), size))).rejects.toThrow("bytes of one answer");
  }
});

test("many messages of a process are read, one that is too long is not", async () => {
  const all = Buffer.concat([message(4096), message(0), message(1_048_576), message(1)]);
  for (const size of [1000, 65_536, all.length])
    expect(await readFrom(started, split(all, size), "POST")).toBe(all.length);
  const bad = Buffer.concat([message(3), message(1_048_577)]);
  for (const size of [1, 4, bad.length]) {
    await expect(readFrom(started, split(bad.subarray(0, 20), size), "POST")).rejects.toThrow("bytes of one answer");
  }
});

test("files and the output of code are not limited here", async () => {
  for (const path of ["/v1/files/tmp/a", "/v1/contexts/mcp-python-a/execute"]) {
    expect(await readFrom(router + path, repeat(block, 200))).toBe(200 * block.length);
  }
});
