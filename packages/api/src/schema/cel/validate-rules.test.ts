import { describe, expect, test } from "vitest";
import { formatFieldError } from "../field-error.ts";
import type { Json, StructuralSchema, ValidationRule } from "../structural-schema.ts";
import { validate } from "../validate.ts";
import { ruleErrors } from "./rules.ts";

const ruled = (schema: StructuralSchema, ...rules: ValidationRule[]): StructuralSchema => ({
  ...schema,
  "x-kubernetes-validations": rules,
});
const field = (schema: StructuralSchema): StructuralSchema => ({ type: "object", properties: { v: schema } });
const errorsOf = (schema: StructuralSchema, value: Json, old?: Json): string[] =>
  validate(field(schema), { v: value }, old === undefined ? {} : { old: { v: old } }).map(formatFieldError);

const integer: StructuralSchema = { type: "integer" };
const text: StructuralSchema = { type: "string" };
const bounds: StructuralSchema = { type: "object", properties: { a: integer, b: integer, f: { type: "number" } } };
const named: StructuralSchema = { type: "object", properties: { n: text, v: integer } };
const map: StructuralSchema = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["n"],
  items: ruled(named, { rule: "self.v >= oldSelf.v", message: "no shrinking" }),
};

const spelled: StructuralSchema = {
  type: "object",
  properties: { in: integer, "a-b": integer, c: integer, d: { type: "object", properties: { e: integer } } },
};

describe("rules can read", () => {
  const value = { in: 1, "a-b": 2, c: 3, d: { e: 4 } };
  test.each([
    ["fields with escaped names", "self.__in__ == 1 && self.a__dash__b == 2 && self.d.e == 4"],
    ["whether fields exist", "has(self.c) && has(self.d.e)"],
    ["the whole object, compared as a value", "self == oldSelf && self.c == 3"],
    ["the whole object, as an item of a list", "[self].all(each, each.c == 3) && self.c == 3"],
    ["the old object", "self.c == oldSelf.c && oldSelf.d.e == 4"],
  ])("%s", (_what, rule) => {
    const schema = ruled(spelled, { rule });
    expect(errorsOf(schema, value, value)).toEqual([]);
    expect(errorsOf(schema, { ...value, c: 5, d: {}, in: 6 }, value)).toHaveLength(1);
  });

  test("fields that only another rule of the same object or a message expression reads", () => {
    const schema = ruled(
      spelled,
      { rule: "self.c == 3" },
      { rule: "self.__in__ == 1", messageExpression: "'c is ' + string(self.d.e)" },
    );
    expect(errorsOf(schema, value)).toEqual([]);
    expect(errorsOf(schema, { ...value, in: 2 })).toEqual(["v: Invalid value: c is 4"]);
  });
});

describe("rules", () => {
  const cases: readonly (readonly [string, StructuralSchema, Json, string[]])[] = [
    ["that hold report nothing", ruled(integer, { rule: "self > 3" }), 4, []],
    [
      "without a message are quoted",
      ruled(integer, { rule: "self > 3" }),
      2,
      ["v: Invalid value: 2: failed rule: self > 3"],
    ],
    ["with a message", ruled(text, { rule: "self != 'b'", message: " no b " }), "b", ['v: Invalid value: "b": no b']],
    [
      "with a reason",
      ruled(integer, { rule: "self > 3", message: "m", reason: "FieldValueForbidden" }),
      2,
      ["v: Forbidden: m"],
    ],
    [
      "with reason FieldValueRequired",
      ruled(integer, { rule: "self > 3", message: "m", reason: "FieldValueRequired" }),
      2,
      ["v: Required value: m"],
    ],
    [
      "with reason FieldValueDuplicate",
      ruled(integer, { rule: "self > 3", reason: "FieldValueDuplicate" }),
      2,
      ["v: Duplicate value: 2"],
    ],
    [
      "on an object do not print its value",
      ruled(bounds, { rule: "self.a <= self.b", message: "m" }),
      { a: 2, b: 1 },
      ["v: Invalid value: m"],
    ],
    [
      "with a field path",
      ruled(bounds, { rule: "self.a <= self.b", message: "m", fieldPath: ".a" }),
      { a: 2, b: 1 },
      ["v.a: Invalid value: m"],
    ],
    [
      "with a field path to the key of a map",
      ruled(
        { type: "object", properties: { m: { type: "object", additionalProperties: text } } },
        { rule: "false", message: "m", fieldPath: ".m['a.b']" },
      ),
      {},
      ["v.m[a.b]: Invalid value: m"],
    ],
    [
      "that compute their message",
      ruled(bounds, { rule: "self.a <= self.b", messageExpression: "'a is ' + string(self.a)" }),
      { a: 2, b: 1 },
      ["v: Invalid value: a is 2"],
    ],
    [
      "that cannot compute it fall back",
      ruled(bounds, { rule: "has(self.b)", message: "m", messageExpression: "string(self.b)" }),
      { a: 2 },
      ["v: Invalid value: m"],
    ],
    [
      "that fail while running",
      ruled(bounds, { rule: "self.a <= self.b" }),
      { a: 2 },
      ['v: Invalid value: "object": no such key: b evaluating rule: self.a <= self.b'],
    ],
    [
      "that do not compile",
      ruled(integer, { rule: "self >" }),
      1,
      ['v: Invalid value: "integer": rule compile error: unexpected token: EOF'],
    ],
    [
      "on items",
      { type: "array", items: ruled(text, { rule: "self != 'x'", message: "no x" }) },
      ["a", "x"],
      ['v[1]: Invalid value: "x": no x'],
    ],
    [
      "on values of a map",
      { type: "object", additionalProperties: ruled(text, { rule: "self != 'x'", message: "no x" }) },
      { k: "x" },
      ['v[k]: Invalid value: "x": no x'],
    ],
    ["see numbers as doubles where the schema does", ruled(bounds, { rule: "self.f == 2.0" }), { f: 2 }, []],
    [
      "see either of int-or-string",
      ruled({ "x-kubernetes-int-or-string": true }, { rule: "self == 5 || self == 'five'" }),
      "five",
      [],
    ],
    [
      "see times",
      ruled(
        { type: "object", properties: { t: { type: "string", format: "date-time" } } },
        { rule: "self.t > timestamp('2020-01-01T00:00:00Z')", message: "old" },
      ),
      { t: "2019-01-01T00:00:00Z" },
      ["v: Invalid value: old"],
    ],
    [
      "see durations",
      ruled(
        { type: "object", properties: { d: { type: "string", format: "duration" } } },
        { rule: "self.d < duration('1h')", message: "long" },
      ),
      { d: "2h" },
      ["v: Invalid value: long"],
    ],
    [
      "see names that CEL reserves",
      ruled(
        { type: "object", properties: { namespace: text, "a-b": text } },
        { rule: "self.__namespace__ == self.a__dash__b" },
      ),
      { namespace: "x", "a-b": "x" },
      [],
    ],
    [
      "ignore fields that they do not read",
      { ...ruled(bounds, { rule: "self.a == 1" }), properties: { a: integer, t: { type: "string", format: "date" } } },
      { a: 1, t: "2026-01-01" },
      [],
    ],
    ["are not run on null", ruled({ type: "string", nullable: true }, { rule: "self == 'x'" }), null, []],
    ["match", ruled(text, { rule: "self.matches('^[a-z]+$')" }), "abc", []],
    [
      "do not match",
      ruled(text, { rule: "self.matches('^[a-z]+$')", message: "m" }),
      "A1",
      ['v: Invalid value: "A1": m'],
    ],
  ];
  test.for(cases)("%s", ([, schema, value, expected]) => expect(errorsOf(schema, value)).toEqual(expected));

  test("at the root can read the type and the name, but no other metadata", () => {
    const rule = "self.kind == 'X' && self.metadata.name == 'n' && !has(self.metadata.labels)";
    const schema = ruled({ type: "object", properties: { metadata: { type: "object" } } }, { rule });
    const object = { apiVersion: "v1", kind: "X", metadata: { name: "n", labels: {} } };
    expect(validate(schema, object)).toEqual([]);
    expect(validate(schema, { ...object, kind: "Y" })).toHaveLength(1);
  });

  test("patterns that are exponential in a backtracking engine run in linear time", () => {
    const schema = ruled(text, { rule: "self.matches('^(a+)+$')", message: "m" });
    expect(errorsOf(schema, `${"a".repeat(50_000)}b`)).toHaveLength(1);
  });

  test("nested loops over large lists exceed the cost limit", () => {
    const rule = "self.all(x, self.exists_one(y, y == x))";
    const schema = ruled({ type: "array", items: integer }, { rule, message: "twice" });
    const numbers = (count: number): Json => Array.from({ length: count }, (_, index) => index);
    expect(errorsOf(schema, numbers(100))).toEqual([]);
    expect(errorsOf(schema, numbers(100_000))).toEqual([
      "v: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: twice",
    ]);
  });

  test("are not run on a value of the wrong type, and an error says so", () => {
    expect(errorsOf(ruled(integer, { rule: "self > 3" }), "x")).toEqual([
      'v: Invalid value: "string": v in body must be of type integer: "string"',
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    ]);
  });

  test("that do not compile are reported without an object", () => {
    const schema = field(
      ruled(integer, { rule: "self >" }, { rule: "self + 1" }, { rule: "self > 1", messageExpression: "isURL(self)" }),
    );
    expect(ruleErrors(schema)).toEqual([
      'Cannot compile the rule "self >": unexpected token: EOF',
      expect.stringContaining('Cannot compile the rule "self + 1"') as string,
      expect.stringContaining('Cannot compile the message expression "isURL(self)"') as string,
    ]);
  });
});

describe("transition rules", () => {
  const same = ruled(text, { rule: "self == oldSelf", message: "immutable" });
  const optional = ruled(text, {
    rule: "oldSelf.hasValue() || self == 'x'",
    optionalOldSelf: true,
    message: "start with x",
  });
  const cases: readonly (readonly [string, StructuralSchema, Json, Json | undefined, string[]])[] = [
    ["do not run without an old value", same, "a", undefined, []],
    ["hold", same, "a", "a", []],
    ["fail", same, "b", "a", ['v: Invalid value: "b": immutable']],
    [
      "with optionalOldSelf run without an old value",
      optional,
      "a",
      undefined,
      ['v: Invalid value: "a": start with x'],
    ],
    ["with optionalOldSelf can read the old value", optional, "a", "z", []],
    [
      "match the items of a map list by their keys",
      map,
      [
        { n: "b", v: 1 },
        { n: "a", v: 5 },
        { n: "c", v: 0 },
      ],
      [
        { n: "a", v: 1 },
        { n: "b", v: 2 },
      ],
      ["v[0]: Invalid value: no shrinking"],
    ],
  ];
  test.for(cases)("%s", ([, schema, value, old, expected]) => expect(errorsOf(schema, value, old)).toEqual(expected));

  test("accept a stored string that does not match its format", () => {
    const schema = ruled(
      { type: "object", properties: { a: integer, t: { type: "string", format: "date-time" } } },
      { rule: "self.a >= oldSelf.a" },
    );
    expect(errorsOf(schema, { a: 2, t: "never" }, { a: 1, t: "never" })).toEqual([]);
  });

  test("errors of other rules are ignored for unchanged values", () => {
    const schema = ruled(integer, { rule: "self > 3", message: "m" });
    expect(errorsOf(schema, 2, 2)).toEqual([]);
    expect(errorsOf(schema, 1, 2)).toEqual(["v: Invalid value: 1: m"]);
  });
});

describe("rules above the cost limit are stopped", () => {
  const numbers: StructuralSchema = { type: "array", items: integer };
  const texts: StructuralSchema = { type: "array", items: text };
  const count = (length: number): number[] => Array.from({ length }, (_, index) => index);
  const tooLong = "call cost exceeds limit for rule";
  const cases: readonly (readonly [string, StructuralSchema, Json])[] = [
    ["self.all(x, self.all(y, y >= 0))", numbers, count(3000)],
    ["self.all(x, self.all(y, self.all(z, z < 0) || true) || true) || true", numbers, count(3000)],
    ["self.all(i, x, self.all(j, y, y >= 0))", numbers, count(3000)],
    ["self.map(x, self + self).size() > 0", numbers, count(3000)],
    ["self.map(x, self.map(y, self)).size() > 0", numbers, count(3000)],
    ["self.all(x, self == self.map(y, y))", numbers, count(3000)],
    ["self.all(x, x in self)", numbers, count(20_000)],
    ["lists.range(1000000000).size() > 0", numbers, []],
    ["self.distinct().size() > 0", numbers, count(20_000)],
    ["sets.contains(self, self)", numbers, count(20_000)],
    ["self.map(x, self.join(',')).size() > 0", texts, count(3000).map(String)],
    ["self.replace('', self).size() > 0", text, "a".repeat(1_000_000)],
    ["self.split('').map(x, self.split('')).size() > 0", text, "ab".repeat(20_000)],
    ["self.matches('(a|aa)+(b|bb)+(c|cc)+(d|dd)+')", text, "a".repeat(1_000_000)],
    ["self.all(x, 'a'.matches(x) || true)", texts, count(3000).map((at) => `${at}(a|b){900}`)],
    [Array.from({ length: 60 }, () => "self == self.map(x, x)").join(" && "), numbers, count(20_000)],
  ];
  test.for(cases)("%s", ([rule, schema, value]) => {
    expect(errorsOf(ruled(schema, { rule }), value)).toEqual([expect.stringContaining(tooLong)]);
  });

  test("for all rules of an object together, and no further rule runs", () => {
    const schema: StructuralSchema = { type: "array", items: ruled(integer, { rule: "[1, 2, 3, 4].all(x, x > 0)" }) };
    const errors = errorsOf(schema, count(300_000));
    expect(errors).toEqual([expect.stringContaining("validation failed due to running out of cost budget")]);
  });
});
