import { describe, expect, test } from "vitest";
import { applyDefaults } from "./defaults.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const given = (value: Json, more: StructuralSchema = { type: "string" }): StructuralSchema => ({
  ...more,
  default: value,
});
const cases: readonly (readonly [string, StructuralSchema, Json, Json])[] = [
  ["fills what is absent", { properties: { a: given("x") } }, {}, { a: "x" }],
  ["leaves what is there", { properties: { a: given("x") } }, { a: "" }, { a: "" }],
  ["replaces a null that may not be", { properties: { a: given("x") } }, { a: null }, { a: "x" }],
  ["leaves a null that may be", { properties: { a: given("x", { nullable: true }) } }, { a: null }, { a: null }],
  ["drops a null that may not be and has no default", { properties: { a: {} } }, { a: null }, {}],
  ["invents no parents", { properties: { p: { properties: { a: given("x") } } } }, {}, {}],
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
  ["null items without a default stay, to be refused", { items: {} }, [null], [null]],
  ["values of a map", { additionalProperties: { properties: { a: given("x") } } }, { k: {} }, { k: { a: "x" } }],
  ["null values of a map", { additionalProperties: given("x") }, { k: null }, { k: "x" }],
  ["null values of a map without a default go", { additionalProperties: {} }, { k: null }, {}],
  ["values of the wrong type are not its business", { properties: { a: given("x") } }, "text", "text"],
  ["unknown nulls stay", { properties: {} }, { u: null }, { u: null }],
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

  test("shares what it need not change", () => {
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
