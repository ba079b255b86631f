import { expect, test } from "vitest";
import { wantedBy } from "./get.ts";

test.for([
  [["pods"], { types: ["pods"], names: [] }],
  [["pods", "a", "b"], { types: ["pods"], names: ["a", "b"] }],
  [["pod/a", "b"], { types: ["pod"], names: ["a", "b"] }],
  [["sandboxes,pods"], { types: ["sandboxes", "pods"], names: [] }],
] as const)("reads %j", ([[type, ...names], expected]) => {
  expect(wantedBy(type, names)).toEqual(expected);
});

test("refuses names together with several types", () => {
  expect(() => wantedBy("sandboxes,pods", ["a"])).toThrow("a single type");
});
