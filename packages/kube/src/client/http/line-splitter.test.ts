import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.ts";

function split(chunks: readonly Buffer[], maxLineBytes = 1_000_000): string[] {
  const splitter = new LineSplitter(maxLineBytes);
  const lines: string[] = [];
  for (const chunk of chunks) splitter.push(chunk, (line) => lines.push(line.toString("utf8")));
  return lines;
}

/** Splits the bytes at the given positions, also within characters. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

describe("LineSplitter", () => {
  test("returns the same lines for any chunks", () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\n", "\n\n", "é\n", "🦊", "\r\n")))
      .map((p) => p.join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 20 }), (whole, places) => {
        const expected = Buffer.from(whole)
          .toString("utf8")
          .split("\n")
          .slice(0, -1)
          .filter((line) => line !== "");
        expect(split(cut(Buffer.from(whole), places))).toEqual(expected);
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 150) },
    );
  });

  test("never returns an incomplete line", () => {
    expect(split([Buffer.from('{"a":1}\n{"b":'), Buffer.from("2}")])).toEqual(['{"a":1}']);
  });

  test("joins a line of many chunks once", () => {
    const chunk = Buffer.alloc(64, "x");
    const chunks = Array.from({ length: 100_000 }, () => chunk);
    expect(split([...chunks, Buffer.from("\n")], 10_000_000)[0]?.length).toBe(6_400_000);
  });

  test("returns the lines before one that is too long", () => {
    const splitter = new LineSplitter(10);
    const lines: string[] = [];
    const push = (): void => splitter.push(Buffer.from("one\ntwo\nelevenbytes"), (line) => lines.push(line.toString()));
    expect(push).toThrow(/longer than 10 bytes/);
    expect(lines).toEqual(["one", "two"]);
  });
});
