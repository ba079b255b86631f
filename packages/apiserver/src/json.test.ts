import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyJson, equalJson, maxJsonDepth, parsedProblem } from "./json.ts";

const nested = (depth: number): unknown => {
  let value: unknown = {};
  for (let level = 1; level < depth; level += 1) value = [value];
  return value;
};

describe("copyJson()", () => {
  test("copies a value like JSON", () => {
    const value = { a: undefined, b: [1, undefined, null], at: new Date(0), t: "x", f: false };
    expect(copyJson(value)).toEqual({ value: JSON.parse(JSON.stringify(value)) });
  });

  test.for([
    ["functions", { a: () => 1 }],
    ["numbers that are not JSON", { a: Number.NaN }],
    ["big integers", { a: 1n }],
    ["__proto__ as a key", JSON.parse('{"a":{"__proto__":{"polluted":true}}}')],
    ["deep nesting", nested(maxJsonDepth + 1)],
  ])("refuses %s", ([, value]) => {
    expect(copyJson(value)).toHaveProperty("problem");
  });

  test("accepts nesting up to the limit", () => {
    expect(copyJson(nested(maxJsonDepth))).toHaveProperty("value");
  });
});

describe("parsedProblem()", () => {
  test("refuses the same values as copyJson()", () => {
    expect(parsedProblem(nested(maxJsonDepth))).toBeUndefined();
    expect(parsedProblem(nested(maxJsonDepth + 1))).toContain("nested deeper");
    expect(parsedProblem(JSON.parse('[{"__proto__":1}]'))).toContain("__proto__");
  });
});

describe("equalJson()", () => {
  test("ignores the order of keys", () => {
    expect(equalJson({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toBe(true);
  });

  test.for([
    [{ a: 1 }, { a: 1, b: undefined }],
    [{ a: undefined }, { b: undefined }],
    [
      [1, 2],
      [2, 1],
    ],
    [[], {}],
    [null, {}],
    [0, false],
  ])("%j and %j are different", ([left, right]) => {
    expect(equalJson(left, right)).toBe(false);
  });

  test("a value and its copy are equal", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(equalJson(value, structuredClone(value))).toBe(true);
      }),
    );
  });
});
