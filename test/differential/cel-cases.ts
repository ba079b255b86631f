import type { StructuralSchema, ValidationRule } from "@agent-sandbox/api/schema";

const text: StructuralSchema = { type: "string", maxLength: 20 };
const integer: StructuralSchema = { type: "integer" };
const pair: StructuralSchema = { type: "object", properties: { a: integer, b: integer } };
const named: StructuralSchema = { type: "object", required: ["n"], properties: { n: text, v: integer } };

const ruled = (schema: StructuralSchema, ...rules: ValidationRule[]): StructuralSchema => ({
  ...schema,
  "x-kubernetes-validations": rules,
});

/** An object without a schema for its fields. */
const open: StructuralSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const embedded: StructuralSchema = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
};

/** Schemas that both servers must refuse with the same errors. */
export const brokenSchemas: readonly { readonly name: string; readonly schema: StructuralSchema }[] = [
  { name: "no rule", schema: ruled(text, { rule: " " }) },
  { name: "a message of spaces", schema: ruled(text, { rule: "true", message: "  " }) },
  { name: "a message of two lines", schema: ruled(text, { rule: "true", message: "a\nb" }) },
  { name: "a rule of two lines without a message", schema: ruled(text, { rule: "true &&\ntrue" }) },
  { name: "a message expression of spaces", schema: ruled(text, { rule: "true", messageExpression: " " }) },
  { name: "a message expression that is not a string", schema: ruled(text, { rule: "true", messageExpression: "1" }) },
  { name: "a message expression that reads nothing", schema: ruled(text, { rule: "true", messageExpression: "x" }) },
  { name: "an unknown reason", schema: ruled(text, { rule: "true", reason: "Because" as "FieldValueInvalid" }) },
  { name: "a path to nothing", schema: ruled(pair, { rule: "true", fieldPath: ".c" }) },
  { name: "a path that is none", schema: ruled(pair, { rule: "true", fieldPath: "a" }) },
  {
    name: "oldSelf in a plain list",
    schema: { type: "array", maxItems: 3, items: ruled(text, { rule: "self == oldSelf" }) },
  },
  { name: "an optional oldSelf that is not used", schema: ruled(text, { rule: "true", optionalOldSelf: true }) },
  {
    name: "an optional oldSelf used as if it were there",
    schema: ruled(text, { rule: "self == oldSelf", optionalOldSelf: true }),
  },
  { name: "a rule that is no condition", schema: ruled(text, { rule: "self" }) },
  { name: "two that are wrong", schema: ruled(text, { rule: "self >" }, { rule: "nothing(self)" }) },
  { name: "a rule within allOf", schema: { ...text, allOf: [ruled({}, { rule: "true" })] } },
  { name: "a rule within not", schema: { ...text, not: ruled({}, { rule: "true" }) } },
  {
    name: "oldSelf in a set",
    schema: {
      type: "array",
      maxItems: 3,
      "x-kubernetes-list-type": "set",
      items: ruled(text, { rule: "self == oldSelf" }),
    },
  },
  {
    name: "a rule about what has no schema",
    schema: ruled(
      { ...pair, properties: { a: { "x-kubernetes-preserve-unknown-fields": true } } },
      { rule: "self.a == 1" },
    ),
  },
  { name: "a rule about a field of an open object", schema: ruled(open, { rule: "size(self.a) > 0" }) },
  {
    name: "a text compared with null",
    schema: ruled(
      { type: "array", maxItems: 3, items: { ...text, nullable: true } },
      { rule: "self.all(x, x != null)" },
    ),
  },
];

export interface Transition {
  readonly name: string;
  readonly schema: StructuralSchema;
  readonly before: unknown;
  /** The updated object. Without it, the case is about creation. */
  readonly after?: unknown;
}

/** Updates of a stored object with rules, on which both servers must agree. */
export const transitions: readonly Transition[] = [
  { name: "a message", schema: ruled(text, { rule: "self != 'b'", message: " no b " }), before: "b" },
  { name: "no message", schema: ruled(integer, { rule: "self > 3" }), before: 2 },
  {
    name: "a computed message",
    schema: ruled(pair, { rule: "self.a <= self.b", messageExpression: "'a is %d'.format([self.a])" }),
    before: { a: 2, b: 1 },
  },
  {
    name: "a computed message that fails",
    schema: ruled(pair, { rule: "has(self.b)", message: "m", messageExpression: "string(self.b)" }),
    before: { a: 2 },
  },
  {
    name: "a computed message of two lines",
    schema: ruled(pair, { rule: "false", messageExpression: "'a\\nb'" }),
    before: {},
  },
  {
    name: "forbidden",
    schema: ruled(integer, { rule: "self > 3", message: "m", reason: "FieldValueForbidden" }),
    before: 2,
  },
  {
    name: "required",
    schema: ruled(integer, { rule: "self > 3", message: "m", reason: "FieldValueRequired" }),
    before: 2,
  },
  {
    name: "duplicate",
    schema: ruled(integer, { rule: "self > 3", message: "m", reason: "FieldValueDuplicate" }),
    before: 2,
  },
  {
    name: "a blamed field",
    schema: ruled(pair, { rule: "self.a <= self.b", message: "m", fieldPath: ".a" }),
    before: { a: 2, b: 1 },
  },
  {
    name: "a blamed key",
    schema: ruled(
      { type: "object", properties: { m: { type: "object", additionalProperties: text } } },
      { rule: "false", message: "m", fieldPath: ".m['a.b']" },
    ),
    before: {},
  },
  { name: "what is not there", schema: ruled(pair, { rule: "self.a <= self.b" }), before: { a: 2 } },
  { name: "division by zero", schema: ruled(integer, { rule: "1 / self > 0" }), before: 0 },
  {
    name: "immutable, unchanged",
    schema: ruled(text, { rule: "self == oldSelf", message: "immutable" }),
    before: "a",
    after: "a",
  },
  {
    name: "immutable, changed",
    schema: ruled(text, { rule: "self == oldSelf", message: "immutable" }),
    before: "a",
    after: "b",
  },
  {
    name: "an optional earlier value, absent",
    schema: ruled(text, { rule: "oldSelf.hasValue() || self == 'x'", optionalOldSelf: true, message: "x" }),
    before: "a",
  },
  {
    name: "an optional earlier value, present",
    schema: ruled(text, {
      rule: "!oldSelf.hasValue() || oldSelf.value() == self",
      optionalOldSelf: true,
      message: "no",
    }),
    before: "a",
    after: "b",
  },
  {
    name: "an optional earlier value by default",
    schema: ruled(integer, { rule: "self >= oldSelf.orValue(0)", optionalOldSelf: true, message: "no" }),
    before: 5,
    after: 4,
  },
  {
    name: "items of a map list",
    schema: {
      type: "array",
      maxItems: 5,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["n"],
      items: ruled(named, { rule: "self.v >= oldSelf.v", message: "no shrinking" }),
    },
    before: [
      { n: "a", v: 1 },
      { n: "b", v: 2 },
    ],
    after: [
      { n: "b", v: 1 },
      { n: "a", v: 5 },
      { n: "c", v: 0 },
    ],
  },
  {
    name: "values of a map",
    schema: {
      type: "object",
      maxProperties: 5,
      additionalProperties: ruled(integer, { rule: "self >= oldSelf", message: "no shrinking" }),
    },
    before: { a: 1 },
    after: { a: 0, b: 5 },
  },
  {
    name: "a resource within",
    schema: ruled(embedded, { rule: "self.metadata.name == 'a' && self.kind == 'X'", message: "m" }),
    before: { apiVersion: "v1", kind: "X", metadata: { name: "b" } },
  },
  { name: "a null that may be", schema: { ...ruled(text, { rule: "self == 'x'" }), nullable: true }, before: null },
  {
    name: "a number or a text",
    schema: ruled({ "x-kubernetes-int-or-string": true }, { rule: "self == 5 || self == 'five'", message: "m" }),
    before: "six",
  },
  {
    name: "a number or a text that is used as the other",
    schema: ruled({ "x-kubernetes-int-or-string": true }, { rule: "self.startsWith('f')", message: "m" }),
    before: 5,
  },
  {
    name: "an unchanged value that was wrong before",
    schema: ruled(pair, { rule: "!has(self.a) || self.a < 5", message: "too much" }),
    before: { a: 1 },
    after: { a: 9 },
  },
  {
    name: "two rules, both broken",
    schema: ruled(integer, { rule: "self > 3", message: "one" }, { rule: "self > 4", message: "two" }),
    before: 1,
  },
  {
    name: "rules at two levels",
    schema: ruled(
      { ...pair, properties: { a: ruled(integer, { rule: "self > 3", message: "in" }) } },
      { rule: "false", message: "out" },
    ),
    before: { a: 1 },
  },
  {
    name: "a wrong type beside a rule",
    schema: ruled({ ...pair, properties: { a: text, b: integer } }, { rule: "self.b > 1", message: "m" }),
    before: { a: 1, b: 1 },
  },
  {
    name: "a text too long beside a rule",
    schema: ruled(
      { type: "object", properties: { a: { type: "string", maxLength: 2 } } },
      { rule: "self.a == ''", message: "m" },
    ),
    before: { a: "abc" },
  },
  {
    name: "a default that a rule sees",
    schema: ruled(
      { type: "object", properties: { a: { type: "integer", default: 7 } } },
      { rule: "self.a != 7", message: "seven" },
    ),
    before: {},
  },
  {
    name: "an optional earlier value of a new item",
    schema: {
      type: "array",
      maxItems: 5,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["n"],
      items: ruled(named, {
        rule: "oldSelf.hasValue() || self.v == 0",
        optionalOldSelf: true,
        message: "start at zero",
      }),
    },
    before: [{ n: "a", v: 0 }],
    after: [
      { n: "a", v: 3 },
      { n: "b", v: 1 },
    ],
  },
];

/** Rules that kube-apiserver refuses by its cost estimate; the embedded server limits the cost at run time. */
export const tooCostlyThere: readonly string[] = [
  "['a', 'b'].join() == 'ab'",
  "ip('127.0.0.1') == ip('127.0.0.1') && ip('127.0.0.1') != ip('10.0.0.1')",
];
