import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepEqual, isJsonObject } from "./deep-equal.ts";
import { applyMergePatch, mergePatch } from "./merge-patch.ts";

/** Null members cannot be written by a merge patch; null inside a list can. */
const withoutNullMembers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => withoutNullMembers(item));
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNullMembers(inner)]));
};

const key = fc.oneof(fc.constantFrom("a", "b", "__proto__", "constructor", "toString"), fc.string({ maxLength: 3 }));
const json = fc
  .letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, fc.jsonValue({ maxDepth: 0 }), fc.array(tie("value")), tie("object")),
    object: fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
  }))
  .value.map((value) => withoutNullMembers(JSON.parse(JSON.stringify(value))));

describe("mergePatch()", () => {
  test.for([
    ["holds only the difference", { a: 1, b: { c: 1, d: 2 } }, { a: 1, b: { c: 1, d: 3 } }, { b: { d: 3 } }],
    ["removes with null", { a: 1, b: { c: 1 } }, { b: {} }, { a: null, b: { c: null } }],
    ["replaces lists whole", { a: [1, 2] }, { a: [1] }, { a: [1] }],
    ["adds an empty object", {}, { a: {} }, { a: {} }],
    ["is undefined when equal", { a: [{ b: 1 }] }, { a: [{ b: 1 }] }, undefined],
    ["takes null and undefined as absent", { a: null, b: 1, c: undefined }, { b: undefined, d: null }, { b: null }],
    ["replaces a list by an object", { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
  ] as const)("%s", ([, from, to, expected]) => {
    expect(mergePatch(from, to)).toEqual(expected);
  });

  test("turns any JSON into any other, and is undefined only between equals", () => {
    fc.assert(
      fc.property(json, json, (from, to) => {
        const before = structuredClone(from);
        const patch = mergePatch(from, to);
        expect(patch === undefined).toBe(deepEqual(from, to));
        expect(deepEqual(patch === undefined ? from : applyMergePatch(from, patch), to)).toBe(true);
        expect(deepEqual(from, before)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("applyMergePatch()", () => {
  // The examples in appendix A of RFC 7396.
  test.for([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ] as const)("%j with %j is %j", ([target, patch, expected]) => {
    expect(applyMergePatch(target, patch)).toEqual(expected);
  });

  test("a member named __proto__ reaches no prototype", () => {
    const patched = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype);
    expect(JSON.stringify(patched)).toBe('{"__proto__":{"polluted":true}}');
    expect("polluted" in {}).toBe(false);
  });
});
