import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type ApiObject, isJsonObject } from "../api-object.ts";
import { Interner } from "../interner.ts";
import { builtinSchema } from "./builtin-schema.ts";
import { canonicalForm } from "./canonical-form.ts";
import { QuickAdmission } from "./quick-admission.ts";
import { defaulted, pruned, schemaProblems, unknownFields } from "./schema.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "n", labels: { app: "x" }, creationTimestamp: null },
  spec: {
    containers: [
      {
        name: "a",
        image: "i",
        env: [{ name: "E", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: "0.25", memory: "1024Ki" }, requests: {} },
        readinessProbe: { httpGet: { port: "http" }, periodSeconds: 5 },
        volumeMounts: [],
      },
    ],
    activeDeadlineSeconds: 30,
    tolerations: [{ operator: "Exists" }],
    volumes: [{ name: "v", emptyDir: { sizeLimit: "1Gi" } }],
  },
};
const lease = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "l", ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }] },
  spec: { renewTime: "2026-01-01T00:00:00.123456Z", leaseTransitions: 3 },
};
const policy = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "n" },
  spec: { podSelector: { matchLabels: {} }, ingress: [{ ports: [{ port: 80 }], from: [{ podSelector: {} }] }] },
};
const objects: readonly (readonly [string, ApiObject])[] = [
  ["io.k8s.api.core.v1.Pod", pod as unknown as ApiObject],
  ["io.k8s.api.coordination.v1.Lease", lease],
  ["io.k8s.api.networking.v1.NetworkPolicy", policy],
];

const junk = fc.constantFrom<unknown>(
  null,
  "",
  "x",
  0,
  -1,
  1.5,
  2 ** 40,
  true,
  [],
  {},
  ["x"],
  { x: 1 },
  { __proto__: 1 },
);

/** The value with a change at the place that the numbers choose. */
function changed(value: unknown, way: readonly number[], change: unknown): unknown {
  const [step, ...rest] = way;
  if (step === undefined || typeof value !== "object" || value === null) return change;
  if (Array.isArray(value)) {
    const at = step % (value.length + 1);
    return value.toSpliced(at, 1, changed(value[at], rest, change));
  }
  const keys = [...Object.keys(value), "stranger"];
  const key = keys[step % keys.length] ?? "";
  if (rest.length === 0 && change === "remove" && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  }
  return { ...value, [key]: changed((value as Record<string, unknown>)[key], rest, change) };
}

test("quick admission of built-in kinds gives the result of the walkers that report problems, or none", () => {
  // As in production: interned specs are not frozen, and one interner serves all objects.
  const interner = new Interner();
  const admission = new QuickAdmission(interner);
  let quick = 0;
  const ways = fc.array(fc.nat(30), { minLength: 2, maxLength: 6 });
  const change = fc.tuple(ways, fc.oneof(fc.constant("remove"), junk));
  fc.assert(
    fc.property(fc.constantFrom(...objects), fc.array(change, { maxLength: 2 }), ([definition, sample], changes) => {
      const given = changes.reduce<unknown>((value, [way, what]) => changed(value, way, what), sample) as ApiObject;
      const schema = builtinSchema(definition);
      const shaped = admission.admit(given, { schema, typed: true });
      for (const _time of ["computes the result", "finds the result"]) {
        const interned = admission.admit(interner.internSpec(given), { schema, typed: true });
        expect(JSON.stringify(interned)).toBe(JSON.stringify(shaped));
      }
      if (shaped === undefined) return;
      quick += 1;
      const canonical = canonicalForm(schema, pruned(given, schema));
      const slow = defaulted(canonical.value, schema);
      expect(unknownFields(given, schema)).toEqual([]);
      expect(canonical.problems).toEqual([]);
      expect(schemaProblems(slow, { schema, typed: true })).toEqual([]);
      expect(JSON.stringify(shaped)).toBe(JSON.stringify(slow));
    }),
    { numRuns: 1000 },
  );
  expect(quick).toBeGreaterThan(100);
});

test("quick admission does not change an object in its stored form", () => {
  const admission = new QuickAdmission(new Interner());
  for (const [definition, sample] of objects) {
    const schema = builtinSchema(definition);
    const shaped = admission.admit(sample, { schema, typed: true });
    expect(shaped).toBeDefined();
    expect(admission.admit(shaped as ApiObject, { schema, typed: true })).toBe(shaped);
  }
});
