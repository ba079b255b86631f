import { describe, expect, test } from "vitest";
import { formatFieldError } from "./field-error.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validate } from "./validate.ts";

const field = (schema: StructuralSchema): StructuralSchema => ({ type: "object", properties: { v: schema } });
const errorsOf = (schema: StructuralSchema, value: Json, old?: Json): string[] =>
  validate(field(schema), { v: value }, old === undefined ? {} : { old: { v: old } }).map(formatFieldError);

const pair: StructuralSchema = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } };
const either = [{ required: ["a"] }, { required: ["b"] }];
const set: StructuralSchema = { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } };
const map: StructuralSchema = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["k", "p"],
  items: {
    type: "object",
    properties: { k: { type: "string" }, p: { type: "integer" }, x: { type: "string", maxLength: 1 } },
  },
};

describe("the messages of validate() are those of the API server", () => {
  const cases: readonly (readonly [StructuralSchema, Json, string[]])[] = [
    [{ type: "string" }, "x", []],
    [{ type: "string" }, 5, ['v: Invalid value: "integer": v in body must be of type string: "integer"']],
    [{ type: "integer" }, "x", ['v: Invalid value: "string": v in body must be of type integer: "string"']],
    [{ type: "integer" }, 1.5, ['v: Invalid value: "number": v in body must be of type integer: "number"']],
    [{ type: "number" }, 1, []],
    [{ type: "boolean" }, null, ['v: Invalid value: "null": v in body must be of type boolean: "null"']],
    [{ type: "boolean", nullable: true }, null, []],
    [{ type: "object" }, [], ['v: Invalid value: "array": v in body must be of type object: "array"']],
    [{ type: "object", required: ["a"] }, {}, ["v.a: Required value"]],
    [{ type: "string", enum: ["a", "b"] }, "c", ['v: Unsupported value: "c": supported values: "a", "b"']],
    [{ type: "integer", enum: [1, 2] }, 3, ['v: Unsupported value: 3: supported values: "1", "2"']],
    [{ type: "integer", minimum: 3 }, 2, ["v: Invalid value: 2: v in body should be greater than or equal to 3"]],
    [
      { type: "integer", minimum: 3, exclusiveMinimum: true },
      3,
      ["v: Invalid value: 3: v in body should be greater than 3"],
    ],
    [{ type: "integer", maximum: 3 }, 4, ["v: Invalid value: 4: v in body should be less than or equal to 3"]],
    [
      { type: "integer", maximum: 3, exclusiveMaximum: true },
      3,
      ["v: Invalid value: 3: v in body should be less than 3"],
    ],
    [{ type: "integer", multipleOf: 2 }, 3, ["v: Invalid value: 3: v in body should be a multiple of 2"]],
    [{ type: "number", multipleOf: 0.1 }, 0.3, []],
    [
      { type: "integer", format: "int32" },
      2 ** 31,
      ['v: Invalid value: "": Checked value must be of type integer with format int32 in v'],
    ],
    [
      { type: "number", format: "float" },
      1e40,
      ['v: Invalid value: "": Checked value must be of type number with format float in v'],
    ],
    [{ type: "string", minLength: 3 }, "ab", ['v: Invalid value: "ab": v in body should be at least 3 chars long']],
    [{ type: "string", maxLength: 2 }, "abc", ["v: Too long: may not be more than 2 bytes"]],
    [{ type: "string", maxLength: 1 }, "abc", ["v: Too long: may not be more than 1 byte"]],
    [{ type: "string", maxLength: 2 }, "😀😀", []],
    [{ type: "string", minLength: 3 }, "😀😀", ['v: Invalid value: "😀😀": v in body should be at least 3 chars long']],
    [{ type: "string", pattern: "^a" }, "b", ["v: Invalid value: \"b\": v in body should match '^a'"]],
    [
      { type: "string", pattern: "(?=a)" },
      "a",
      ["v: Invalid value: \"a\": v in body should match '(?=a), but pattern is invalid: RE2 cannot compile it'"],
    ],
    [{ type: "string", format: "date-time" }, "x", ['v: Invalid value: "x": v in body must be of type date-time: "x"']],
    [
      { type: "string", format: "date-time" },
      [],
      ['v: Invalid value: "array": v in body must be of type string: "array"'],
    ],
    [{ type: "array", minItems: 2 }, [1], ["v: Invalid value: 1: v in body should have at least 2 items"]],
    [{ type: "array", maxItems: 1 }, [1, 2], ["v: Too many: 2: must have at most 1 item"]],
    [{ type: "object", minProperties: 1 }, {}, ["v: Invalid value: 0: v in body should have at least 1 properties"]],
    [{ type: "object", maxProperties: 0 }, { a: 1 }, ["v: Too many: 1: must have at most 0 items"]],
    [
      { type: "array", items: { type: "string" } },
      ["a", 1],
      ['v[1]: Invalid value: "integer": v[1] in body must be of type string: "integer"'],
    ],
    [
      { type: "object", additionalProperties: { type: "string" } },
      { k: 1 },
      ['v.k: Invalid value: "integer": v.k in body must be of type string: "integer"'],
    ],
    [
      { "x-kubernetes-int-or-string": true },
      true,
      ['v: Invalid value: "boolean": v in body must be of type integer,string: "boolean"'],
    ],
    [{ "x-kubernetes-int-or-string": true }, "80%", []],
    [
      { ...pair, anyOf: either },
      {},
      ['v: Invalid value: "": "v" must validate at least one schema (anyOf)', "v.a: Required value"],
    ],
    [
      { ...pair, oneOf: either },
      {},
      [
        'v: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid',
        "v.a: Required value",
      ],
    ],
    [
      { ...pair, oneOf: either },
      { a: "x", b: "y" },
      ['v: Invalid value: "": "v" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [{ ...pair, oneOf: either }, { a: "x" }, []],
    [
      { ...pair, allOf: either },
      { a: "x" },
      ['v: Invalid value: "": "v" must validate all the schemas (allOf)', "v.b: Required value"],
    ],
    [
      { ...pair, not: { required: ["a"] } },
      { a: "x" },
      ['v: Invalid value: "": "v" must not validate the schema (not)'],
    ],
    [set, ["a", "b", "a", "a"], ['v[2]: Duplicate value: "a"']],
    [
      map,
      [
        { k: "a", p: 1 },
        { k: "a", p: 2 },
        { p: 1, k: "a" },
      ],
      ['v[2]: Duplicate value: {"k":"a","p":1}'],
    ],
    [
      map,
      ["a"],
      [
        'v[0]: Invalid value: "string": v[0] in body must be of type object: "string"',
        'v[0]: Invalid value: "a": must be an object for an array of list-type map',
      ],
    ],
    [
      { type: "object", "x-kubernetes-embedded-resource": true },
      { kind: "" },
      ["v.apiVersion: Required value: must not be empty", "v.kind: Required value: must not be empty"],
    ],
  ];
  test.for(
    cases.map((row, index) => [`${index}: ${JSON.stringify(row[0])} and ${JSON.stringify(row[1])}`, ...row] as const),
  )("%s", ([, schema, value, expected]) => expect(errorsOf(schema, value)).toEqual(expected));
});

describe("validate() on an update", () => {
  test("ignores errors in unchanged fields", () => {
    expect(errorsOf({ type: "string", maxLength: 1 }, "long", "long")).toEqual([]);
  });

  test("rejects a changed field that was invalid before", () => {
    expect(errorsOf({ type: "string", maxLength: 1 }, "longer", "long")).toEqual([
      "v: Too long: may not be more than 1 byte",
    ]);
  });

  test("matches the items of a map list by their keys, in any order", () => {
    const old = [{ k: "a", p: 1, x: "long" }];
    expect(errorsOf(map, [{ k: "b", p: 1, x: "long" }, ...old], old)).toEqual([
      "v[0].x: Too long: may not be more than 1 byte",
    ]);
  });

  test("ignores duplicates that existed before", () => {
    expect(errorsOf(set, ["a", "a", "b"], ["a", "a"])).toEqual([]);
    expect(errorsOf(set, ["a", "a"], ["a"])).toEqual(['v[1]: Duplicate value: "a"']);
  });
});

describe("validate() on hostile input", () => {
  const nested = (depth: number): Json => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as Json;

  test("rejects values that are nested too deeply without descending into them", () => {
    const anything: StructuralSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    expect(validate(anything, { v: nested(400) })).toEqual([]);
    expect(validate(anything, { v: nested(200_000) }).map(formatFieldError)).toEqual([
      "<nil>: Invalid value: nested deeper than 500 levels",
    ]);
  });

  test("reports a limited number of errors of a huge list", () => {
    const errors = errorsOf(
      { type: "array", items: { type: "string" } },
      Array.from({ length: 200_000 }, () => 1),
    );
    expect(errors).toHaveLength(100);
  });

  test("does not repeat a huge value in its error", () => {
    const [error = ""] = errorsOf({ type: "string", pattern: "^b" }, "a".repeat(1_000_000));
    expect(error.length).toBeLessThan(1200);
  });

  test("a pattern that would hang a backtracking engine is matched in linear time", () => {
    expect(errorsOf({ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(50_000)}b`)).toHaveLength(1);
  });

  test("a key named like an inherited property has no schema and satisfies no requirement", () => {
    const schema: StructuralSchema = { type: "object", required: ["toString"], properties: { a: { type: "string" } } };
    expect(errorsOf(schema, {})).toEqual(["v.toString: Required value"]);
    expect(errorsOf({ type: "object", properties: {} }, JSON.parse('{"__proto__":1,"constructor":2}') as Json)).toEqual(
      [],
    );
  });
});
