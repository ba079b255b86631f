import { describe, expect, test } from "vitest";
import { prune, unknownFields } from "./prune.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const text: StructuralSchema = { type: "string" };
const field = (schema: StructuralSchema): StructuralSchema => ({ type: "object", properties: { v: schema } });
const cases: readonly (readonly [string, StructuralSchema, Json, Json, string[]])[] = [
  ["known fields stay", { type: "object", properties: { a: text } }, { a: "x" }, { a: "x" }, []],
  ["unknown fields are removed", { type: "object", properties: { a: text } }, { a: "x", b: 1 }, { a: "x" }, ["v.b"]],
  ["an object without properties loses all fields", { type: "object" }, { a: { b: 1 } }, {}, ["v.a"]],
  [
    "items",
    { type: "array", items: { type: "object", properties: { a: text } } },
    [{ a: "x", z: 1 }],
    [{ a: "x" }],
    ["v[0].z"],
  ],
  [
    "values of a map",
    { type: "object", additionalProperties: { type: "object" } },
    { k: { z: 1 } },
    { k: {} },
    ["v.k.z"],
  ],
  [
    "values without a schema keep their place only",
    { type: "object", additionalProperties: true },
    { k: { z: 1 } },
    { k: {} },
    ["v.k.z"],
  ],
  [
    "preserved objects keep what is unknown, and prune what is known",
    { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { k: { type: "object" } } },
    { u: { z: 1 }, k: { z: 1 } },
    { u: { z: 1 }, k: {} },
    ["v.k.z"],
  ],
  [
    "unknown fields are preserved where the schema says so",
    { "x-kubernetes-preserve-unknown-fields": true },
    [{ a: [{ b: 1 }] }],
    [{ a: [{ b: 1 }] }],
    [],
  ],
  [
    "an embedded resource keeps its type and metadata",
    { type: "object", "x-kubernetes-embedded-resource": true },
    { apiVersion: "v1", kind: "X", metadata: { any: 1 }, z: 1 },
    { apiVersion: "v1", kind: "X", metadata: { any: 1 } },
    ["v.z"],
  ],
  ["a scalar instead of an object is left to validation", { type: "object" }, 5, 5, []],
];

describe("prune()", () => {
  test.for(cases)("%s", ([, schema, value, kept, unknown]) => {
    expect(prune(field(schema), { v: value })).toEqual({ v: kept });
    expect(unknownFields(field(schema), { v: value })).toEqual(unknown);
  });

  test("keeps type and metadata of the root", () => {
    const object = { apiVersion: "v1", kind: "X", metadata: { name: "a", labels: { b: "c" } }, zz: 1 };
    const { zz: _, ...kept } = object;
    expect(prune({ type: "object" }, object)).toEqual(kept);
  });

  test("does not change its input, and shares unchanged parts", () => {
    const value = { v: { a: "x" }, w: { b: 1 } };
    const before = structuredClone(value);
    const pruned = prune({ type: "object", properties: { v: { type: "object", properties: { a: text } } } }, value);
    expect(value).toEqual(before);
    expect(pruned).toEqual({ v: { a: "x" } });
    expect(pruned.v).toBe(value.v);
  });

  test("treats keys such as constructor as unknown fields", () => {
    const value = JSON.parse('{"v":{"__proto__":{"polluted":1},"constructor":1,"toString":2,"a":"x"}}') as Json;
    const schema = field({ type: "object", properties: { a: text } });
    expect(JSON.stringify(prune(schema, value))).toBe('{"v":{"a":"x"}}');
    expect(unknownFields(schema, value)).toEqual(["v.__proto__", "v.constructor", "v.toString"]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
