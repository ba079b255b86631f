import { expect, test } from "vitest";
import { readMetadata } from "./file-metadata.ts";

test("the headers of metadata", () => {
  const headers = { "x-metadata-a": ["1", "2"], "x-metadata-b-c": [""], "x-metadata": ["no"], host: ["x"] };
  expect(readMetadata(headers)).toEqual({ a: "1", "b-c": "" });
});

test.for([
  { "x-metadata-": ["no name"] },
  { [`x-metadata-${"k".repeat(247)}`]: ["1"] },
  { "x-metadata-a": ["\u00e9"] },
  { "x-metadata-a": ["line\nfeed"] },
  { "x-metadata-a": ["v".repeat(2048)], "x-metadata-b": ["v".repeat(2048)] },
])("metadata that is refused: %j", (headers) => {
  expect(() => readMetadata(headers)).toThrow(/^metadata /);
});
