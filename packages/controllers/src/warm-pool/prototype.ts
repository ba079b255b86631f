import {
  controllerReference,
  createdByLabel,
  launchTypeLabel,
  nameHash,
  type PodMetadata,
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

/** A new member of the pool. The API server completes the name. */
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
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...identity, [launchTypeLabel]: "warm", [createdByLabel]: "controller" },
      annotations: { [sandboxTemplateRefAnnotation]: templateName },
      ownerReferences: [controllerReference(sandboxWarmPools, pool)],
    },
    spec: {
      ...blueprint.spec,
      podTemplate: { ...podTemplate, metadata: podMetadataOf(podTemplate.metadata, identity, options) },
    },
  };
}

function podMetadataOf(
  given: PodMetadata | undefined,
  identity: Readonly<Record<string, string>>,
  { markEvictable }: MemberOptions,
): PodMetadata {
  const evictable = markEvictable ? { [safeToEvictAnnotation]: "true" } : {};
  const annotations = { ...evictable, ...given?.annotations };
  return {
    labels: { ...given?.labels, ...identity },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}
