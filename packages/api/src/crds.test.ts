import { describe, expect, test } from "vitest";
import { crds } from "./crds.ts";
import type { CustomResourceVersion } from "./custom-resource-definition.ts";
import {
  podSnapshots,
  podSnapshotTriggers,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "./kinds.ts";
import { ruleErrors } from "./schema/cel/rules.ts";
import { isPattern } from "./schema/pattern.ts";
import { partsOf } from "./schema/schema-parts.ts";
import type { StructuralSchema } from "./schema/structural-schema.ts";

const kind = (name: string) => {
  const found = crds.find(({ spec }) => spec.names.kind === name);
  if (found === undefined) throw new Error(`Cannot find the CRD of "${name}"`);
  return found;
};
const version = (name: string, which: string): CustomResourceVersion => {
  const found = kind(name).spec.versions.find((candidate) => candidate.name === which);
  if (found === undefined) throw new Error(`Cannot find version "${which}" of "${name}"`);
  return found;
};
const names = ["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"] as const;
const scale = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.selector",
};

function* everySchema(schema: StructuralSchema): Generator<StructuralSchema> {
  yield schema;
  for (const part of partsOf(schema)) yield* everySchema(part);
}

/** Each field below a schema with its path, such as `.spec.env[].name`. */
function* everyField(schema: StructuralSchema, path: string): Generator<readonly [string, StructuralSchema]> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield [`${path}.${name}`, field];
    yield* everyField(field, `${path}.${name}`);
  }
  if (schema.items !== undefined) yield* everyField(schema.items, `${path}[]`);
}
/** Fields of Kubernetes' types, and those that the API server describes by itself. */
const isKubernetes = (path: string): boolean =>
  /^\.(?:apiVersion|kind|metadata)$|[.](?:podTemplate|volumeClaimTemplates\[\])[.]spec[.]|gress\[\]/.test(path);
const isText = (description: string): boolean => /^[A-Z0-9].{5,}\.$/.test(description) && description.length <= 200;

const allSchemas = crds.flatMap(({ spec }) =>
  spec.versions.flatMap(({ schema }) => [...everySchema(schema?.openAPIV3Schema ?? {})]),
);

describe("the CRDs", () => {
  test.for([
    ["Sandbox", "agents.x-k8s.io", "sandboxes", "sandbox"],
    ["SandboxTemplate", "extensions.agents.x-k8s.io", "sandboxtemplates", "sandboxtemplate"],
    ["SandboxClaim", "extensions.agents.x-k8s.io", "sandboxclaims", "sandboxclaim"],
    ["SandboxWarmPool", "extensions.agents.x-k8s.io", "sandboxwarmpools", "swp"],
    ["SandboxSnapshot", "snapshots.agents.x-k8s.io", "sandboxsnapshots", "sbs"],
    ["PodSnapshot", "podsnapshot.gke.io", "podsnapshots", "podsnapshot"],
    ["PodSnapshotManualTrigger", "podsnapshot.gke.io", "podsnapshotmanualtriggers", "podsnapshotmanualtrigger"],
  ] as const)("%s: names", ([name, group, plural, shortName]) => {
    const { metadata, spec } = kind(name);
    expect(metadata.name).toBe(`${plural}.${group}`);
    expect(spec.group).toBe(group);
    expect(spec.scope).toBe("Namespaced");
    expect(spec.names).toEqual({
      kind: name,
      listKind: `${name}List`,
      plural,
      singular: name.toLowerCase(),
      shortNames: [shortName],
    });
  });

  test.for(names)("%s: both versions are served, v1beta1 is stored, v1alpha1 is deprecated", (name) => {
    const { group, versions, conversion } = kind(name).spec;
    expect(
      versions.map(({ name: which, served, storage, deprecated, deprecationWarning }) => ({
        which,
        served,
        storage,
        deprecated,
        deprecationWarning,
      })),
    ).toEqual([
      { which: "v1beta1", served: true, storage: true },
      {
        which: "v1alpha1",
        served: true,
        storage: false,
        deprecated: true,
        deprecationWarning: `${group}/v1alpha1 ${name} is deprecated; use ${group}/v1beta1 ${name} instead`,
      },
    ]);
    expect(conversion).toEqual({
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1", "v1beta1"],
        clientConfig: {
          service: { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system", path: "/convert" },
        },
      },
    });
  });

  test.for([
    ["Sandbox", { status: {} }, { status: {}, scale }],
    ["SandboxTemplate", undefined, undefined],
    ["SandboxClaim", { status: {} }, { status: {} }],
    ["SandboxWarmPool", { status: {}, scale }, { status: {}, scale }],
  ] as const)("%s: subresources", ([name, beta, alpha]) => {
    expect(version(name, "v1beta1").subresources).toEqual(beta);
    expect(version(name, "v1alpha1").subresources).toEqual(alpha);
  });

  test("SandboxSnapshot: one version, which needs no conversion", () => {
    const { versions, conversion } = kind("SandboxSnapshot").spec;
    expect(conversion).toBeUndefined();
    expect(
      versions.map(({ name, served, storage, subresources }) => ({ name, served, storage, subresources })),
    ).toEqual([{ name: "v1alpha1", served: true, storage: true, subresources: { status: {} } }]);
  });

  test("printer columns", () => {
    const condition = (field: string) => `.status.conditions[?(@.type=='Ready')].${field}`;
    const ready = ["Ready", "string", condition("status")];
    const reason = ["Reason", "string", condition("reason")];
    const age = ["Age", "date", ".metadata.creationTimestamp"];
    const pool = [["Ready", "integer", ".status.readyReplicas"], ["Desired", "integer", ".spec.replicas"], age];
    const columns = (name: string, which: string) =>
      version(name, which).additionalPrinterColumns?.map((column) => [column.name, column.type, column.jsonPath]);
    expect(Object.fromEntries(names.map((name) => [name, columns(name, "v1beta1")]))).toEqual({
      Sandbox: [ready, reason, age],
      SandboxClaim: [ready, ["Sandbox", "string", ".status.sandbox.name"], reason, age],
      SandboxTemplate: undefined,
      SandboxWarmPool: [...pool, ["Outdated", "integer", ".status.outdatedReplicas"]],
    });
    const wide = version("SandboxWarmPool", "v1beta1").additionalPrinterColumns?.filter(({ priority }) => priority);
    expect(wide?.map(({ name }) => name)).toEqual(["Outdated"]);
    expect(columns("SandboxSnapshot", "v1alpha1")).toEqual([
      ["Sandbox", "string", ".status.sourceName"],
      ["Depth", "string", ".status.depth"],
      ["Size", "integer", ".status.sizeBytes"],
      ready,
      age,
    ]);
    expect(Object.fromEntries(names.map((name) => [name, columns(name, "v1alpha1")]))).toEqual({
      Sandbox: undefined,
      SandboxClaim: undefined,
      SandboxTemplate: undefined,
      SandboxWarmPool: pool,
    });
  });

  test("no schema keeps unknown fields", () => {
    expect(allSchemas.filter((schema) => "x-kubernetes-preserve-unknown-fields" in schema)).toEqual([]);
  });

  test.for(crds.map(({ spec }) => spec.names.kind))("%s: our fields have descriptions in sentences", (name) => {
    for (const { schema } of kind(name).spec.versions) {
      const root = schema?.openAPIV3Schema ?? {};
      const fields = [...everyField(root, "")].filter(([path]) => !isKubernetes(path));
      expect(fields.length).toBeGreaterThan(3);
      expect([["", root] as const, ...fields].filter(([, { description = "" }]) => !isText(description))).toEqual([]);
    }
  });

  test.for([
    ["Sandbox", ".spec.podTemplate.spec"],
    ["Sandbox", ".spec.podTemplate.spec.containers[]"],
    ["SandboxTemplate", ".spec.podTemplate.spec.initContainers[]"],
    ["SandboxTemplate", ".spec.networkPolicy.egress[]"],
    ["SandboxClaim", ".spec.volumeClaimTemplates[].spec"],
  ] as const)("%s: the fields of %s are described too", ([name, parent]) => {
    const root = version(name, "v1beta1").schema?.openAPIV3Schema ?? {};
    const fields = [...everyField(root, "")].filter(([path]) => path.slice(0, path.lastIndexOf(".")) === parent);
    expect(fields.length).toBeGreaterThan(1);
    expect(fields.filter(([, { description = "" }]) => !isText(description))).toEqual([]);
  });

  test("every rule and pattern compiles", () => {
    const roots = crds.flatMap(({ spec }) => spec.versions.map(({ schema }) => schema?.openAPIV3Schema ?? {}));
    expect(roots.flatMap(ruleErrors)).toEqual([]);
    expect(allSchemas.flatMap(({ pattern = "" }) => (isPattern(pattern) ? [] : [pattern]))).toEqual([]);
  });

  test("lists that apply replaces as a whole are atomic", () => {
    const list = (name: string, which: string, field: string) =>
      version(name, which).schema?.openAPIV3Schema?.properties?.spec?.properties?.[field]?.["x-kubernetes-list-type"];
    expect([
      list("Sandbox", "v1beta1", "volumeClaimTemplates"),
      list("Sandbox", "v1alpha1", "volumeClaimTemplates"),
      list("SandboxTemplate", "v1beta1", "volumeClaimTemplates"),
      list("SandboxClaim", "v1beta1", "volumeClaimTemplates"),
      list("SandboxClaim", "v1beta1", "env"),
      list("SandboxClaim", "v1alpha1", "env"),
    ]).toEqual(Array.from({ length: 6 }, () => "atomic"));
  });

  test("agree with the names that clients use", () => {
    const stored = [
      sandboxes,
      sandboxClaims,
      sandboxTemplates,
      sandboxWarmPools,
      sandboxSnapshots,
      podSnapshots,
      podSnapshotTriggers,
    ];
    expect(stored).toEqual(
      crds.map(({ spec }) => ({
        apiVersion: `${spec.group}/${spec.versions.find(({ storage }) => storage)?.name}`,
        kind: spec.names.kind,
        plural: spec.names.plural,
        namespaced: true,
      })),
    );
  });
});
