import { expect, test } from "vitest";
import { isSmallShape } from "./json-shape.ts";

const small = (text: string): boolean => isSmallShape(Buffer.from(text));

test.for([
  ["an object", '{"a":[1,2,{"b":null}]}', true],
  ["punctuation in a text", JSON.stringify({ a: '[{,:"\\'.repeat(50_000) }), true],
  ["64 levels", "[".repeat(64) + "]".repeat(64), true],
  ["65 levels", "[".repeat(65) + "]".repeat(65), false],
  ["a million levels that nobody closes", "[".repeat(1_000_000), false],
  ["many elements", `[${"[],".repeat(10_001)}1]`, false],
  ["many members", `{${'"a":1,'.repeat(10_001)}"b":1}`, false],
  ["nothing", "", true],
  ["a text that does not end", '"\\', true],
] as const)("%s: %s", ([, text, expected]) => {
  expect(small(text)).toBe(expected);
});
