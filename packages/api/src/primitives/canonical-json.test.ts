import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";
import { semanticEqual } from "./semantic-equal.ts";

test.for([
  ["the order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }],
  ["empty values", { labels: {}, env: [], x: null, a: 1 }, { a: 1 }],
  [
    "the spelling of a quantity",
    { resources: { limits: { memory: "1Gi" } } },
    { resources: { limits: { memory: "1024Mi" } } },
  ],
  ["a quantity as a number", { resources: { requests: { cpu: 1 } } }, { resources: { requests: { cpu: "1000m" } } }],
] as const)("does not depend on %s", ([, a, b]) => {
  expect(canonicalJson(a)).toBe(canonicalJson(b));
});

test.for([
  ["an empty volume", { emptyDir: {} }, {}],
  ["an empty item", { rules: [{}] }, { rules: [] }],
  ["a label that looks like a quantity", { labels: { cpu: "1" } }, { labels: { cpu: "1000m" } }],
  ["the order of a list", [1, 2], [2, 1]],
  ["types", { a: "1" }, { a: 1 }],
] as const)("depends on %s", ([, a, b]) => {
  expect(canonicalJson(a)).not.toBe(canonicalJson(b));
});

test("is equal exactly for values that mean the same", () => {
  const leaf = fc.constantFrom<unknown>("1", "1000m", "x", 1, true, null, "");
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("value"), { maxLength: 2 }), tie("object")),
    object: fc.dictionary(fc.constantFrom("resources", "requests", "cpu", "labels", "emptyDir"), tie("value"), {
      maxKeys: 2,
    }),
  }));
  fc.assert(
    fc.property(value, value, (a, b) => {
      expect(canonicalJson(a) === canonicalJson(b)).toBe(semanticEqual(a, b));
    }),
    { numRuns: 1_000 },
  );
});
