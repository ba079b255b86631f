import { expect, test } from "vitest";
import { OutputLines } from "./output-lines.ts";

const linesOf = (...chunks: readonly (string | Buffer)[]): string[] => {
  const lines = new OutputLines();
  return [...chunks.flatMap((chunk) => [...lines.push(Buffer.from(chunk))]), ...lines.end()];
};

test.for([
  [[], []],
  [["a\nb\n\nc"], ["a", "b", "\n", "c"]],
  [
    ["a", "b\nc", "d"],
    ["ab", "cd"],
  ],
  [
    ["a\r\nb\r", "\nc\rd"],
    ["a", "b", "c", "d"],
  ],
  [["\n\n"], ["\n", "\n"]],
  [
    ["a\r", "\r"],
    ["a", "\n"],
  ],
] as const)("the lines of %j", ([chunks, lines]) => expect(linesOf(...chunks)).toEqual(lines));

test("a character that two chunks share stays whole", () => {
  const bytes = Buffer.from("aé\u{1f600}z\n");
  for (let at = 0; at <= bytes.length; at++) {
    expect(linesOf(bytes.subarray(0, at), bytes.subarray(at))).toEqual(["aé\u{1f600}z"]);
  }
});

test("a long line without an end is sent in pieces", () => {
  const text = "x".repeat(200_000);
  const lines = new OutputLines();
  const early = [...lines.push(Buffer.from(text))];
  expect(early.length).toBeGreaterThan(2);
  expect([...early, ...lines.end()].join("")).toBe(text);
});
