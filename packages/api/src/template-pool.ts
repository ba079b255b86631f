import { migrationShadowAnnotation, migrationSourceTemplateAnnotation } from "./annotations.ts";
import { sandboxTemplates, sandboxWarmPools, shadowPoolPrefix } from "./kinds.ts";
import type { SandboxTemplate, SandboxWarmPool } from "./v1beta1/index.ts";

/** The pool with the name of the template, otherwise the first one with members, otherwise an empty one. */
export function choosePool(pools: readonly SandboxWarmPool[], template: string): string | undefined {
  const rank = ({ metadata, spec }: SandboxWarmPool): number =>
    metadata.name === template ? 0 : (spec.replicas ?? 1) > 0 ? 1 : 2;
  const [first] = pools
    .filter(({ metadata, spec }) => spec.sandboxTemplateRef.name === template && !metadata.deletionTimestamp)
    .toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""));
  return first?.metadata.name;
}

/**
 * A claim names a pool, so a template without one gets an empty pool, as in the conversion of v1alpha1 claims. It is deleted with
 * the template.
 */
export function emptyPoolOf({ metadata }: SandboxTemplate, namespace: string): SandboxWarmPool {
  const { name = "", uid = "" } = metadata;
  const owner = { apiVersion: sandboxTemplates.apiVersion, kind: sandboxTemplates.kind, name, uid };
  return {
    apiVersion: sandboxWarmPools.apiVersion as SandboxWarmPool["apiVersion"],
    kind: "SandboxWarmPool",
    metadata: {
      name: shadowPoolPrefix + name,
      namespace,
      annotations: { [migrationShadowAnnotation]: "true", [migrationSourceTemplateAnnotation]: name },
      ownerReferences: [owner],
    },
    spec: { replicas: 0, sandboxTemplateRef: { name } },
  };
}
