import { expect, test } from "vitest";
import { type LineWindow, linesIn } from "./line-window.ts";

async function read(text: string, size: number, window: LineWindow): Promise<string> {
  async function* inPieces(): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const pieces: Buffer[] = [];
  for await (const piece of linesIn(inPieces(), window)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test.for([
  ["a\nb\nc\n", { first: 1, count: 2 }, "a\nb\n"],
  ["a\nb\nc\n", { first: 2, count: 1 }, "b\n"],
  ["a\nb\nc", { first: 3, count: 5 }, "c"],
  ["a\nb\nc", { first: 2, count: Number.POSITIVE_INFINITY }, "b\nc"],
  ["a\n\n\nd", { first: 2, count: 2 }, "\n\n"],
  ["a\nb", { first: 9, count: 1 }, ""],
  ["a\nb", { first: 1, count: 0 }, ""],
  ["", { first: 1, count: 1 }, ""],
] as const)("of %j the window %j", async ([text, window, expected]) => {
  for (const size of [1, 2, 3, 100]) expect(await read(text, size, window)).toBe(expected);
});
