import { describe, expect, test } from "vitest";
import { quickAdmission } from "./quick-admission.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const ports: StructuralSchema = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
  items: { type: "object", properties: { name: { type: "string" } } },
};

const schemaWith = (rule: string): StructuralSchema => ({
  type: "object",
  properties: {
    spec: { type: "object", properties: { size: { type: "integer" }, ports }, "x-kubernetes-validations": [{ rule }] },
    status: { type: "object", properties: { ports } },
  },
});

/** Every part is taken for one that never changes. */
const admit = quickAdmission({ dropsEmpty: false, partsAreFixed: true });
const admits = (schema: StructuralSchema, value: Json, old?: Json): boolean =>
  admit(schema, value, { uniqueItems: true, old }) !== undefined;

describe("a part that is known", () => {
  test("is judged by its rules again once it has an earlier self, and each time that self is another", () => {
    const schema = schemaWith("self.size > oldSelf.size");
    const [small, large] = [{ size: 1 }, { size: 2 }];
    for (const _again of [1, 2]) {
      expect(admits(schema, { spec: small })).toBe(true);
      expect(admits(schema, { spec: large }, { spec: small })).toBe(true);
      expect(admits(schema, { spec: small }, { spec: large })).toBe(false);
      expect(admits(schema, { spec: large }, { spec: large })).toBe(false);
    }
  });

  test("is known by the schema that it was judged by", () => {
    const spec = { size: 1 };
    expect(admits(schemaWith("self.size == 1"), { spec })).toBe(true);
    expect(admits(schemaWith("self.size == 2"), { spec })).toBe(false);
  });

  test("does not vouch for the others", () => {
    const schema = schemaWith("self.size == oldSelf.size");
    const [spec, twice] = [{ size: 1 }, { ports: [{ name: "a" }, { name: "a" }] }];
    expect(admits(schema, { spec, status: {} }, { spec, status: {} })).toBe(true);
    expect(admits(schema, { spec, status: twice }, { spec, status: {} })).toBe(false);
    expect(admits(schema, { spec: { ...spec, ...twice }, status: {} }, { spec, status: {} })).toBe(false);
  });
});

test("rules of the whole object are evaluated each time", () => {
  const schema: StructuralSchema = {
    ...schemaWith("true"),
    "x-kubernetes-validations": [{ rule: "self.spec.size == self.status.ports.size()" }],
  };
  const spec = { size: 1 };
  expect(admits(schema, { spec, status: { ports: [{ name: "a" }] } })).toBe(true);
  expect(admits(schema, { spec, status: { ports: [] } })).toBe(false);
});
