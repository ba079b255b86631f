import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { equalSets, fieldSetOf } from "./field-set.ts";
import { anyElement, fieldSet } from "./field-sets.test.support.ts";
import { decodeFields, encodeFields } from "./fields-v1.ts";
import { field, itemWithKey, itemWithValue } from "./path-element.ts";

describe("encodeFields()", () => {
  test("writes the same bytes as Kubernetes", () => {
    const set = fieldSetOf([
      [field("spec"), field("replicas")],
      [field("spec"), field("containers"), itemWithKey({ name: "b" }), field("image")],
      [field("spec"), field("containers"), itemWithKey({ name: "b" })],
      [field("spec"), field("containers"), itemWithKey({ name: "b" }), field("name")],
      [field("metadata"), field("finalizers"), itemWithValue("b")],
      [field("metadata"), field("finalizers")],
      [field("metadata"), field("finalizers"), itemWithValue("a")],
      [field("metadata"), field("labels"), field("app")],
    ]);
    expect(JSON.stringify(encodeFields(set))).toBe(
      '{"f:metadata":{"f:finalizers":{".":{},"v:\\"a\\"":{},"v:\\"b\\"":{}},"f:labels":{"f:app":{}}},' +
        '"f:spec":{"f:containers":{"k:{\\"name\\":\\"b\\"}":{".":{},"f:image":{},"f:name":{}}},"f:replicas":{}}}',
    );
  });

  test("decoding and encoding again gives the same bytes", () => {
    fc.assert(
      fc.property(fieldSet, (set) => {
        const text = JSON.stringify(encodeFields(set));
        const decoded = decodeFields(JSON.parse(text));
        if ("problem" in decoded) throw new Error(decoded.problem);
        expect(equalSets(decoded.set, set)).toBe(true);
        expect(JSON.stringify(encodeFields(decoded.set))).toBe(text);
      }),
    );
  });

  test("decoding gives back any names, keys and values", () => {
    fc.assert(
      fc.property(fc.array(anyElement, { minLength: 1, maxLength: 5 }), (path) => {
        const set = fieldSetOf([path]);
        const decoded = decodeFields(JSON.parse(JSON.stringify(encodeFields(set))));
        expect("set" in decoded && equalSets(decoded.set, set)).toBe(true);
      }),
    );
  });
});

describe("decodeFields()", () => {
  test.for([
    ["nothing", {}, {}],
    ["a leaf with a redundant dot", { "f:a": { ".": {} } }, { "f:a": {} }],
    ["null for a leaf", { "f:a": null }, { "f:a": {} }],
    ["unknown kinds of elements", { "z:a": { "f:b": {} }, "f:a": {} }, { "f:a": {} }],
    ["a field that contains only unknown elements", { "f:a": { "z:b": {} } }, { "f:a": {} }],
    ["keys in any order", { "f:b": {}, "f:a": {} }, { "f:a": {}, "f:b": {} }],
  ] as const)("reads %s", ([, given, expected]) => {
    const decoded = decodeFields(given);
    if ("problem" in decoded) throw new Error(decoded.problem);
    expect(JSON.stringify(encodeFields(decoded.set))).toBe(JSON.stringify(expected));
  });

  test.for([
    ["a list", []],
    ["text", "f:a"],
    ["undefined", undefined],
    ["a number inside", { "f:a": 1 }],
    ["an invalid element", { "f:a": { bad: {} } }],
    ["a key that is not an object", { "k:[]": {} }],
  ])("refuses %s", ([, given]) => {
    expect(decodeFields(given)).toHaveProperty("problem");
  });

  test("refuses fields that are nested too deeply", () => {
    let deep: unknown = {};
    for (let level = 0; level < 200; level += 1) deep = { "f:a": deep };
    expect(decodeFields(deep)).toEqual({ problem: "the fields are nested deeper than 100 levels" });
  });
});
