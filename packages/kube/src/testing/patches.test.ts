import * as fc from "fast-check";
import { applyPatch, createPatch } from "rfc6902";
import { describe, expect, test } from "vitest";
import { jsonPatch, mergePatch } from "./patches.ts";

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.integer(),
    fc.constantFrom("a", "b"),
    fc.boolean(),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom("a", "b", "c/d", "e~f"), tie("value"), { maxKeys: 4 }),
})).object;

describe("jsonPatch()", () => {
  test("gives the same result as an independent implementation and does not modify the target", () => {
    fc.assert(
      fc.property(json, json, (from, to) => {
        const operations = createPatch(from, to);
        const before = structuredClone(from);
        const expected = structuredClone(from);
        applyPatch(expected, operations);
        expect(jsonPatch(from, operations)).toEqual(expected);
        expect(from).toEqual(before);
      }),
    );
  });
});

describe("mergePatch()", () => {
  // The examples of RFC 7386, appendix A.
  test.for<[unknown, unknown, unknown]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a"], { a: "b" }, { a: "b" }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("%j with %j", ([target, patch, expected]) => {
    expect(mergePatch(target, patch)).toEqual(expected);
  });
});
