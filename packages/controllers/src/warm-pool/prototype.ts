import {
  controllerReference,
  createdByLabel,
  launchTypeLabel,
  nameHash,
  type Sandbox,
  type SandboxWarmPool,
  safeToEvictAnnotation,
  sandboxPodTemplateHashLabel,
  sandboxTemplateHashLabel,
  sandboxTemplateRefAnnotation,
  sandboxTemplateRefHashLabel,
  sandboxWarmPools,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import type { Blueprint } from "../template/blueprint.ts";

export interface MemberOptions {
  /** Whether the cluster autoscaler may evict a member that nobody has claimed. */
  readonly markEvictable: boolean;
}

/** A new member of the pool. The API server generates its name. */
export function memberOf(pool: SandboxWarmPool, blueprint: Blueprint, options: MemberOptions): Sandbox {
  const { name = "", namespace = "" } = pool.metadata;
  const templateName = blueprint.template.metadata.name ?? "";
  const identity = {
    [warmPoolSandboxLabel]: nameHash(name),
    [sandboxTemplateRefHashLabel]: nameHash(templateName),
    [sandboxPodTemplateHashLabel]: blueprint.podTemplateHash,
    [sandboxTemplateHashLabel]: blueprint.hash,
  };
  const { podTemplate } = blueprint.spec;
  const isEvictable = options.markEvictable && podTemplate.metadata?.annotations?.[safeToEvictAnnotation] === undefined;
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...identity, [launchTypeLabel]: "warm", [createdByLabel]: "controller" },
      annotations: {
        [sandboxTemplateRefAnnotation]: templateName,
        ...(isEvictable && { [safeToEvictAnnotation]: "true" }),
      },
      ownerReferences: [controllerReference(sandboxWarmPools, pool)],
    },
    // The pool's labels are on the Sandbox only: a claim then has nothing to remove from the spec, and the generation stays.
    spec: blueprint.spec,
  };
}
