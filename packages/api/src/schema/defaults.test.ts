import { describe, expect, test } from "vitest";
import { applyDefaults } from "./defaults.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const given = (value: Json, more: StructuralSchema = { type: "string" }): StructuralSchema => ({
  ...more,
  default: value,
});
const cases: readonly (readonly [string, StructuralSchema, Json, Json])[] = [
  ["fills in absent fields", { properties: { a: given("x") } }, {}, { a: "x" }],
  ["leaves existing fields", { properties: { a: given("x") } }, { a: "" }, { a: "" }],
  ["replaces a null that is not allowed", { properties: { a: given("x") } }, { a: null }, { a: "x" }],
  ["leaves a null that is allowed", { properties: { a: given("x", { nullable: true }) } }, { a: null }, { a: null }],
  ["removes a null that is not allowed and has no default", { properties: { a: {} } }, { a: null }, {}],
  ["does not create absent parents", { properties: { p: { properties: { a: given("x") } } } }, {}, {}],
  [
    "fills in parents that are there",
    { properties: { p: { properties: { a: given("x") } } } },
    { p: {} },
    { p: { a: "x" } },
  ],
  [
    "fills in defaults that are objects",
    { properties: { p: given({ b: 1 }, { properties: { a: given("x"), b: {} } }) } },
    {},
    { p: { a: "x", b: 1 } },
  ],
  ["items", { items: { properties: { a: given("x") } } }, [{}, { a: "y" }], [{ a: "x" }, { a: "y" }]],
  ["null items", { items: given("x") }, [null, "y"], ["x", "y"]],
  ["null items without a default are left to validation", { items: {} }, [null], [null]],
  ["values of a map", { additionalProperties: { properties: { a: given("x") } } }, { k: {} }, { k: { a: "x" } }],
  ["null values of a map", { additionalProperties: given("x") }, { k: null }, { k: "x" }],
  ["null values of a map without a default are removed", { additionalProperties: {} }, { k: null }, {}],
  ["values of the wrong type are left to validation", { properties: { a: given("x") } }, "text", "text"],
  ["null in an unknown field stays", { properties: {} }, { u: null }, { u: null }],
];

describe("applyDefaults()", () => {
  test.for(cases)("%s", ([, schema, value, filled]) => {
    const before = structuredClone(value);
    expect(applyDefaults(schema, value)).toEqual(filled);
    expect(value).toEqual(before);
  });

  test("gives each object its own copy of a default", () => {
    const schema: StructuralSchema = { items: { properties: { list: given([], { type: "array" }) } } };
    const [first, second] = applyDefaults(schema, [{}, {}]) as { list?: Json[] }[];
    expect(first?.list).not.toBe(second?.list);
  });

  test("shares unchanged parts", () => {
    const value = { kept: { a: "x" }, filled: {} };
    const part: StructuralSchema = { properties: { a: given("y") } };
    const result = applyDefaults({ properties: { kept: part, filled: part } }, value);
    expect(result).toEqual({ kept: { a: "x" }, filled: { a: "y" } });
    expect(result.kept).toBe(value.kept);
  });

  test("a default for a key called __proto__ is a plain field", () => {
    const properties = JSON.parse('{"__proto__":{"default":"x"}}') as { [name: string]: StructuralSchema };
    const result = applyDefaults({ properties }, {});
    expect(JSON.stringify(result)).toBe('{"__proto__":"x"}');
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
  });
});
