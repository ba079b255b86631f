import * as fc from "fast-check";
import { expect, test } from "vitest";
import { crds } from "../crds.ts";
import { applyDefaults } from "./defaults.ts";
import { prune, unknownFields } from "./prune.ts";
import { quickAdmission } from "./quick-admission.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validate } from "./validate.ts";

const schemas = new Map<string, StructuralSchema>(
  crds.flatMap(({ spec }) =>
    spec.versions.map(({ name, schema }) => [`${spec.names.kind} ${name}`, schema?.openAPIV3Schema ?? {}] as const),
  ),
);
const schemaOf = (kind: string): StructuralSchema => schemas.get(kind) ?? {};
const junk = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;

/** Values that follow the schema most of the time, and now and then hold something else. */
function valueOf(schema: StructuralSchema, depth: number): fc.Arbitrary<Json> {
  return fc.oneof({ weight: 15, arbitrary: following(schema, depth) }, { weight: 1, arbitrary: junk });
}

function following(schema: StructuralSchema, depth: number): fc.Arbitrary<Json> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema["x-kubernetes-int-or-string"]) return fc.constantFrom<Json>(1, "1", "50%");
  if (schema.type === "array") return fc.array(valueOf(schema.items ?? {}, depth - 1), { maxLength: 2 });
  if (schema.type === "object") return objectOf(schema, depth);
  if (schema.type === "integer") return fc.integer({ min: -1, max: 100 });
  if (schema.type === "boolean") return fc.boolean();
  return fc.constantFrom("", "a", "Ready", "2026-01-01T00:00:00Z");
}

function objectOf(schema: StructuralSchema, depth: number): fc.Arbitrary<Json> {
  const additional = schema.additionalProperties;
  if (typeof additional === "object")
    return fc.dictionary(fc.constantFrom("a", "b", "__proto__"), valueOf(additional, depth - 1));
  const required = schema.required ?? [];
  const names = Object.keys(schema.properties ?? {}).filter((name) => depth > 0 || required.includes(name));
  const known = Object.fromEntries(names.map((name) => [name, valueOf(schema.properties?.[name] ?? {}, depth - 1)]));
  const requiredKeys = required.filter((name) => names.includes(name));
  return fc.record<{ [name: string]: Json }>({ ...known, stranger: junk }, { requiredKeys });
}

// The schema goes by its name, so that a counterexample shows the object and not ten pages of schema.
const cases = fc
  .constantFrom(...schemas.keys())
  .chain((kind) => fc.tuple(fc.constant(kind), objectOf(schemaOf(kind), 4)));

test("pruning is idempotent and leaves no unknown fields", () => {
  fc.assert(
    fc.property(cases, ([kind, value]) => {
      const schema = schemaOf(kind);
      const pruned = prune(schema, value);
      expect(prune(schema, pruned)).toEqual(pruned);
      expect(unknownFields(schema, pruned)).toEqual([]);
    }),
  );
});

test("defaulting is idempotent", () => {
  fc.assert(
    fc.property(cases, ([kind, value]) => {
      const schema = schemaOf(kind);
      const filled = applyDefaults(schema, value);
      expect(applyDefaults(schema, filled)).toEqual(filled);
    }),
  );
});

test("a valid object stays valid when it is stored, read and sent again", () => {
  fc.assert(
    fc.property(cases, ([kind, value]) => {
      const schema = schemaOf(kind);
      const stored = applyDefaults(schema, prune(schema, value));
      fc.pre(validate(schema, stored).length === 0);
      const again = applyDefaults(schema, prune(schema, stored));
      expect(again).toEqual(stored);
      expect(validate(schema, again, { old: stored })).toEqual([]);
    }),
    { maxSkipsPerRun: 1000 },
  );
});

test("an invalid object is accepted as an update if it is unchanged", () => {
  fc.assert(
    fc.property(cases, ([kind, value]) => {
      const schema = schemaOf(kind);
      const stored = applyDefaults(schema, prune(schema, value));
      expect(validate(schema, stored, { old: stored })).toEqual([]);
    }),
  );
});

test("no function changes its input", () => {
  fc.assert(
    fc.property(cases, ([kind, value]) => {
      const schema = schemaOf(kind);
      const before = JSON.stringify(value);
      prune(schema, value);
      applyDefaults(schema, value);
      validate(schema, value, { old: value });
      expect(JSON.stringify(value)).toBe(before);
    }),
  );
});

test("quick admission gives the result of pruning, defaulting and validating, or none", () => {
  const admit = quickAdmission({ dropsEmpty: false, uniqueItems: true });
  let admitted = 0;
  const check = (kind: string, value: Json, old: Json | undefined): void => {
    const schema = schemaOf(kind);
    const quick = admit(schema, value, old);
    if (quick === undefined) return;
    admitted += 1;
    expect(unknownFields(schema, value)).toEqual([]);
    expect(JSON.stringify(quick)).toBe(JSON.stringify(applyDefaults(schema, prune(schema, value))));
    expect(validate(schema, quick, old === undefined ? {} : { old })).toEqual([]);
  };
  fc.assert(
    fc.property(cases, ([kind, value]) => {
      const stored = applyDefaults(schemaOf(kind), prune(schemaOf(kind), value));
      const wrong = validate(schemaOf(kind), stored).length > 0;
      check(kind, value, undefined);
      check(kind, stored, wrong ? undefined : stored);
    }),
    { numRuns: 300 },
  );
  // Otherwise nothing would have been compared.
  expect(admitted).toBeGreaterThan(10);
});
