import { parseQuantity } from "@agent-sandbox/api";
import { assert, constantFrom, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { canonicalQuantity } from "./canonical-quantity.ts";

test.for([
  ["1", "1"],
  [1, "1"],
  [0.5, "500m"],
  ["0.5", "500m"],
  ["1.5Gi", "1536Mi"],
  ["1024Ki", "1Mi"],
  ["0.5Ki", "512"],
  ["1000", "1k"],
  ["1000m", "1"],
  ["1500", "1500"],
  ["0", "0"],
  ["0Gi", "0"],
  ["-1.5", "-1500m"],
  ["1e3", "1e3"],
  ["12e2", "1200"],
  ["1E", "1E"],
  ["100n", "100n"],
  ["+5", "5"],
] as const)("%s is stored as %s", ([given, stored]) => {
  expect(canonicalQuantity(given)).toBe(stored);
});

test.for(["much", "", "1 Gi", "1gi", {}, null, true])("%j is not a quantity", (given) => {
  expect(canonicalQuantity(given)).toBeUndefined();
});

test("the stored form has the same value, and is its own stored form", () => {
  const suffix = constantFrom("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E2");
  assert(
    property(integer({ min: -999_999, max: 999_999 }), suffix, (number, unit) => {
      const given = `${number}${unit}`;
      const stored = canonicalQuantity(given) as string;
      expect(parseQuantity(stored)).toEqual(parseQuantity(given));
      expect(canonicalQuantity(stored)).toBe(stored);
    }),
  );
});
