import { expect, test } from "vitest";
import { quickAdmission } from "./quick-admission.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const schema: StructuralSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: { type: "string" } } },
        },
      },
      "x-kubernetes-validations": [{ rule: "self.size > 0" }, { rule: "self.size >= oldSelf.size" }],
    },
  },
};

const admit = quickAdmission({ dropsEmpty: false, uniqueItems: true });
const admits = (value: Json, old?: Json): boolean => admit(schema, value, old) !== undefined;
const object = (spec: { [name: string]: Json }): Json => ({ spec });

test.for<[string, Json, Json | undefined, boolean]>([
  ["an object that follows its rules", object({ size: 1 }), undefined, true],
  ["an object that breaks a rule", object({ size: 0 }), undefined, false],
  ["a change that follows its rules", object({ size: 2 }), object({ size: 1 }), true],
  ["a change that breaks a transition rule", object({ size: 1 }), object({ size: 2 }), false],
  ["duplicate keys", object({ size: 1, ports: [{ name: "a" }, { name: "a" }] }), undefined, false],
  ["an unknown field", object({ size: 1, color: "red" }), undefined, false],
  ["a wrong type", object({ size: "1" }), undefined, false],
  ["a null", object({ size: null }), undefined, false],
])("quick admission of %s", ([, value, old, expected]) => {
  expect(admits(value, old)).toBe(expected);
});

test("built-in kinds may repeat items of a keyed list", () => {
  const builtin = quickAdmission({ dropsEmpty: true, uniqueItems: false });
  const repeated = object({ size: 1, ports: [{ name: "a" }, { name: "a" }] });
  expect(builtin(schema, repeated)).toEqual(repeated);
});
