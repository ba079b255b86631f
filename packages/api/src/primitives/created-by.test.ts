import { expect, test } from "vitest";
import { normaliseCreatedBy } from "./created-by.ts";

test.for([
  ["go-client", "go-client"],
  ["python-client", "python-client"],
  ["controller", "controller"],
  ["Go-Client", "unknown"],
  ["constructor", "unknown"],
  [" ", "unknown"],
  ["", undefined],
  [undefined, undefined],
] as const)("normaliseCreatedBy(%j) is %j", ([value, expected]) => {
  expect(normaliseCreatedBy(value)).toBe(expected);
});
