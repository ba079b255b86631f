import { expect, test } from "vitest";
import { readJsonLines } from "./lines.ts";

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.for([1, 2, 5, 1000])("lines in pieces of %i bytes", async (size) => {
  const all: unknown[] = [];
  for await (const line of readJsonLines(pieces('{"a":"ü"}\n\n{"b":2}\n{"lost', size))) all.push(line);
  expect(all).toEqual([{ a: "ü" }, { b: 2 }]);
});
