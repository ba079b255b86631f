import { expect, test } from "vitest";
import { parseMetadataFilter } from "./metadata-filter.ts";

test.for([
  ["", {}],
  ["a=b c", { a: "b c" }],
  ["a=b%20c", { a: "b c" }],
  ["a=1&b=2", { a: "1", b: "2" }],
  ["a=x=y", { a: "x=y" }],
  ["a=100%", { a: "100%" }],
  ["a", { a: "" }],
  ["&&a=1&", { a: "1" }],
] as const)("the metadata filter %j", ([text, metadata]) => expect(parseMetadataFilter(text)).toEqual(metadata));

test("a key that names a prototype is an ordinary key", () => {
  expect(Object.entries(parseMetadataFilter("__proto__=x"))).toEqual([["__proto__", "x"]]);
});
