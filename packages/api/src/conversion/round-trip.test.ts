import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../primitives/deep-equal.ts";
import { convert } from "./convert.ts";
import type { PartFields } from "./fields.ts";
import { sandboxConversion } from "./sandbox.ts";
import { sandboxClaimConversion } from "./sandbox-claim.ts";
import { sandboxTemplateConversion } from "./sandbox-template.ts";
import { sandboxWarmPoolConversion } from "./sandbox-warm-pool.ts";

const name = fc.constantFrom(
  "a",
  "pool",
  "my-pool",
  "my-pool-abcde",
  "shadow-pool-t",
  "shadow-pool-",
  "default",
  "none",
  "",
);
const text = fc.string({ maxLength: 6 });
const textMap = fc.dictionary(fc.constantFrom("app", "example.com/key", "__proto__", "x"), text, { maxKeys: 2 });
// Not a valid label, and zod drops it: only fields that both versions have keep it.
const labels = fc.dictionary(fc.constantFrom("app", "example.com/key"), text, { maxKeys: 2 });
const optional = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] });

const podTemplate = fc.record(
  { metadata: optional({ labels: textMap, annotations: textMap }), spec: fc.constant({ containers: [{ name: "c" }] }) },
  { requiredKeys: ["spec"] },
);
const volumeClaimTemplates = fc.array(
  fc.record(
    {
      metadata: optional({ name: text, labels }),
      spec: fc.constant({ accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }),
    },
    { requiredKeys: ["spec"] },
  ),
  { maxLength: 2 },
);
const time = fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T01:02:03+05:00");
const condition = fc.record({
  type: fc.constantFrom("Ready", "Finished"),
  status: fc.constantFrom("True", "False", "Unknown"),
  lastTransitionTime: time,
  reason: fc.constant("Reason"),
  message: text,
});
const conditions = fc.array(condition, { maxLength: 2 });
const count = fc.nat(5);
const updateStrategy = optional({ type: fc.constantFrom("Recreate", "OnReplenish") });

const depth = fc.constantFrom("Volumes", "Filesystem", "Memory");
const restoreFrom = fc.record({ snapshotRef: fc.record({ name }) });

const blueprint = { podTemplate, volumeClaimTemplates, service: fc.boolean() };
const betaBlueprint = {
  ...blueprint,
  idlePolicy: optional({
    suspendAfterSeconds: fc.integer({ min: 10, max: 99 }),
    connections: fc.constantFrom("KeepAwake", "MaySleep"),
  }),
  suspendPolicy: optional({ depth, fallback: fc.constantFrom("Allow", "Refuse") }),
  restoreFrom,
  resumePolicy: fc.constantFrom("OnTraffic", "Manual"),
  runtime: fc.constantFrom("Image", "Injected"),
  persistentVolumeClaimRetentionPolicy: optional({ whenDeleted: fc.constantFrom("Delete", "Retain") }),
};
const expiry = { shutdownTime: time, shutdownPolicy: fc.constantFrom("Delete", "Retain") };
const sandboxStatus = {
  service: text,
  serviceFQDN: text,
  conditions,
  selector: text,
  podIPs: fc.array(text, { maxLength: 2 }),
};
const suspension = optional({
  depth,
  time,
  sizeBytes: count,
  epoch: count,
  restored: depth,
  restoredFrom: fc.record({ name, uid: text }),
  reason: text,
  message: text,
});
const templatePolicies = {
  networkPolicy: optional({ ingress: fc.constant([{}]), egress: fc.constant([]) }),
  networkPolicyManagement: fc.constantFrom("Managed", "Unmanaged"),
  envVarsInjectionPolicy: fc.constantFrom("Allowed", "Overrides", "Disallowed"),
};
const claimFields = {
  lifecycle: optional({ shutdownTime: time, ttlSecondsAfterFinished: count }),
  additionalPodMetadata: optional({ labels: textMap, annotations: textMap }),
  env: fc.array(fc.record({ name: text, value: text }), { maxLength: 2 }),
};
const claimStatus = optional({ conditions, sandbox: optional({ name, podIPs: fc.constant(["10.0.0.1"]) }) });
const poolStatus = { replicas: count, readyReplicas: count, selector: text };
const reference = fc.record({ name });

interface Version {
  readonly apiVersion: string;
  readonly spec: fc.Arbitrary<object>;
  readonly status?: fc.Arbitrary<object>;
}
const group = "extensions.agents.x-k8s.io";
const kinds: Record<string, { alpha: Version; beta: Version }> = {
  Sandbox: {
    alpha: {
      apiVersion: "agents.x-k8s.io/v1alpha1",
      spec: fc.record({ ...blueprint, ...expiry, replicas: fc.constantFrom(0, 1) }, { requiredKeys: ["podTemplate"] }),
      status: optional({ ...sandboxStatus, replicas: fc.constantFrom(0, 1) }),
    },
    beta: {
      apiVersion: "agents.x-k8s.io/v1beta1",
      spec: fc.record(
        { ...betaBlueprint, ...expiry, operatingMode: fc.constantFrom("Running", "Suspended") },
        { requiredKeys: ["podTemplate"] },
      ),
      status: optional({ ...sandboxStatus, nodeName: text, lastActivityTime: time, suspension }),
    },
  },
  SandboxTemplate: {
    alpha: {
      apiVersion: `${group}/v1alpha1`,
      spec: fc.record({ ...blueprint, ...templatePolicies }, { requiredKeys: ["podTemplate"] }),
    },
    beta: {
      apiVersion: `${group}/v1beta1`,
      spec: fc.record(
        {
          ...betaBlueprint,
          ...templatePolicies,
          volumeClaimTemplatesPolicy: fc.constantFrom("Disallowed", "Allowed", "Overrides"),
        },
        { requiredKeys: ["podTemplate"] },
      ),
    },
  },
  SandboxClaim: {
    alpha: {
      apiVersion: `${group}/v1alpha1`,
      spec: fc.record(
        { ...claimFields, sandboxTemplateRef: reference, warmpool: name },
        { requiredKeys: ["sandboxTemplateRef"] },
      ),
      status: claimStatus,
    },
    beta: {
      apiVersion: `${group}/v1beta1`,
      spec: fc.record(
        { ...claimFields, warmPoolRef: reference, volumeClaimTemplates, restoreFrom },
        { requiredKeys: ["warmPoolRef"] },
      ),
      status: claimStatus,
    },
  },
  SandboxWarmPool: {
    alpha: {
      apiVersion: `${group}/v1alpha1`,
      spec: fc.record(
        { replicas: count, sandboxTemplateRef: reference, updateStrategy },
        { requiredKeys: ["replicas", "sandboxTemplateRef"] },
      ),
      status: optional(poolStatus),
    },
    beta: {
      apiVersion: `${group}/v1beta1`,
      spec: fc.record(
        { replicas: count, sandboxTemplateRef: reference, updateStrategy },
        { requiredKeys: ["sandboxTemplateRef"] },
      ),
      status: optional({ ...poolStatus, outdatedReplicas: count, observedGeneration: count, conditions }),
    },
  },
};

const metadata = fc
  .record(
    { name, namespace: fc.constant("ns"), uid: fc.constant("u"), annotations: textMap },
    { requiredKeys: ["name"] },
  )
  .map(({ annotations, ...rest }) =>
    annotations === undefined || Object.keys(annotations).length === 0 ? rest : { ...rest, annotations },
  );

/** The object as it is decoded from JSON. */
const objects = (kind: string, { apiVersion, spec, status }: Version): fc.Arbitrary<JsonObject> =>
  fc
    .record(
      {
        apiVersion: fc.constant(apiVersion),
        kind: fc.constant(kind),
        metadata,
        spec,
        status: status ?? fc.constant({}),
      },
      { requiredKeys: ["apiVersion", "kind", "metadata", "spec"] },
    )
    .map(
      (object) =>
        JSON.parse(JSON.stringify(status === undefined ? { ...object, status: undefined } : object)) as JsonObject,
    );

const converted = (object: JsonObject, apiVersion: string): JsonObject => {
  const before = structuredClone(object);
  const result = convert(object, apiVersion);
  if ("error" in result) throw new Error(result.error);
  expect(object).toEqual(before);
  return JSON.parse(JSON.stringify(result.object)) as JsonObject;
};

/** Removes the state annotations, and the computed fields in the status of a v1alpha1 Sandbox. */
const comparable = ({ metadata, status, ...rest }: JsonObject): JsonObject => {
  const { annotations = {}, ...others } = metadata as { annotations?: Record<string, string> };
  const kept = Object.entries(annotations).filter(([key]) => !key.endsWith("-state"));
  const computed = rest["apiVersion"] === "agents.x-k8s.io/v1alpha1";
  return {
    ...rest,
    metadata: { ...others, annotations: Object.fromEntries(kept) },
    status: computed ? { ...(status as object | undefined), replicas: undefined } : status,
  };
};

const conversions = [sandboxConversion, sandboxClaimConversion, sandboxTemplateConversion, sandboxWarmPoolConversion];

describe.for(Object.entries(kinds))("%s", ([kind, { alpha, beta }]) => {
  test("is unchanged after conversion from v1beta1 to v1alpha1 and back", () => {
    fc.assert(
      fc.property(objects(kind, beta), (object) => {
        const back = converted(converted(object, alpha.apiVersion), beta.apiVersion);
        expect(comparable(back)).toEqual(comparable(object));
      }),
      { numRuns: 300 },
    );
  });

  test("is unchanged after conversion from v1alpha1 to v1beta1 and back", () => {
    fc.assert(
      fc.property(objects(kind, alpha), (object) => {
        const back = converted(converted(object, beta.apiVersion), alpha.apiVersion);
        expect(comparable(back)).toEqual(comparable(object));
      }),
      { numRuns: 300 },
    );
  });

  test("is unchanged after further conversions, and no saved state contains another", () => {
    fc.assert(
      fc.property(objects(kind, alpha), (object) => {
        const once = converted(converted(object, beta.apiVersion), alpha.apiVersion);
        const stored = converted(once, beta.apiVersion);
        const twice = converted(stored, alpha.apiVersion);
        expect(twice).toEqual(once);
        expect(converted(twice, beta.apiVersion)).toEqual(stored);
        expect(JSON.stringify(twice).split("-state").length).toBeLessThanOrEqual(2);
        expect(JSON.stringify(stored).split("-state").length).toBeLessThanOrEqual(2);
      }),
    );
  });

  test.for(["spec", "status"] as const)("is generated with every v1beta1 field of its %s", (part) => {
    const fields: PartFields | undefined = conversions.find((known) => known.kind === kind)?.fields[part];
    const sampled = fc.sample(objects(kind, beta), 100).flatMap((object) => Object.keys(object[part] ?? {}));
    expect(new Set(sampled)).toEqual(new Set(fields?.beta.keys()));
  });

  test("is generated with valid v1beta1 fields", () => {
    const { fields } = conversions.find((known) => known.kind === kind) ?? {};
    for (const object of fc.sample(objects(kind, beta), 50)) {
      const spec = Object.entries(object["spec"] as JsonObject);
      expect(spec.filter(([name, value]) => fields?.spec.beta.get(name)?.safeParse(value).success !== true)).toEqual(
        [],
      );
    }
  });
});
