import * as fc from "fast-check";
import { expect, test } from "vitest";
import { deepEqual } from "./deep-equal.ts";

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

test.for([
  [{ a: 1, b: [1, { c: "x" }] }, { b: [1, { c: "x" }], a: 1 }, true],
  [{ a: undefined }, {}, true],
  [{ a: null }, {}, false],
  [{ a: {} }, {}, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [{ 0: 1 }, [1], false],
  [1, "1", false],
  [null, undefined, false],
  [JSON.parse('{"__proto__":{"a":1}}'), {}, false],
  [{ toString: undefined }, {}, true],
  [{}, { constructor: 1 }, false],
] as const)("deepEqual(%j, %j) is %j", ([a, b, expected]) => {
  expect(deepEqual(a, b)).toBe(expected);
  expect(deepEqual(b, a)).toBe(expected);
});

test("agrees with the comparison of canonical JSON", () => {
  const small = fc.jsonValue({ maxDepth: 2, depthSize: "xsmall" });
  fc.assert(
    fc.property(small, small, (a, b) => {
      const [first, second]: unknown[] = JSON.parse(JSON.stringify([a, b]));
      expect(deepEqual(first, JSON.parse(JSON.stringify(a)))).toBe(true);
      expect(deepEqual(first, second)).toBe(canonical(first) === canonical(second));
    }),
  );
});
