import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type ApiObject, isJsonObject } from "../api-object.ts";
import { builtinSchema } from "./builtin-schema.ts";
import { canonicalForm } from "./canonical-form.ts";
import { defaulted, pruned, quicklyShaped, schemaProblems, unknownFields } from "./schema.ts";

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

/** The value with the change made at a place that the numbers choose. */
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

test("a built-in kind is shaped quickly only as the long way would, and when that has nothing to say", () => {
  let quick = 0;
  const ways = fc.array(fc.nat(30), { minLength: 2, maxLength: 6 });
  const change = fc.tuple(ways, fc.oneof(fc.constant("remove"), junk));
  fc.assert(
    fc.property(fc.constantFrom(...objects), fc.array(change, { maxLength: 2 }), ([definition, sample], changes) => {
      const given = changes.reduce<unknown>((value, [way, what]) => changed(value, way, what), sample) as ApiObject;
      const schema = builtinSchema(definition);
      const shaped = quicklyShaped(given, { schema, typed: true });
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

test("what is stored once is shaped quickly again", () => {
  for (const [definition, sample] of objects) {
    const schema = builtinSchema(definition);
    const shaped = quicklyShaped(sample, { schema, typed: true });
    expect(shaped).toBeDefined();
    expect(quicklyShaped(shaped as ApiObject, { schema, typed: true })).toBe(shaped);
  }
});
