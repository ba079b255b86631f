import {
  controllerReference,
  createdByLabel,
  type LaunchType,
  launchTypeLabel,
  nameHash,
  type PodMetadata,
  podNameAnnotation,
  type Sandbox,
  type SandboxClaim,
  safeToEvictAnnotation,
  sandboxClaims,
  sandboxPodTemplateHashLabel,
  sandboxTemplateHashLabel,
  sandboxTemplateRefAnnotation,
  traceContextAnnotation,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import type { Blueprint } from "../template/blueprint.ts";
import { injectEnv } from "./env.ts";
import { claimedPodMetadata, identityOf, withPodMetadata } from "./pod-metadata.ts";
import type { Outcome } from "./problem.ts";
import { referenceOf } from "./reference.ts";
import { mergeVolumeClaims } from "./volume-claims.ts";

/** The Sandbox to create for a claim that no pool member can serve. */
export function coldSandbox(claim: SandboxClaim, blueprint: Blueprint): Outcome<Sandbox> {
  const { name = "", namespace = "" } = claim.metadata;
  const { template, spec } = blueprint;
  const { envVarsInjectionPolicy, volumeClaimTemplatesPolicy } = template.spec;
  const templateName = template.metadata.name ?? "";
  const hash = nameHash(templateName);
  const added = claim.spec.volumeClaimTemplates ?? [];
  const volumes = mergeVolumeClaims(spec.volumeClaimTemplates, added, volumeClaimTemplatesPolicy);
  if ("problem" in volumes) return volumes;
  const metadata = claimedPodMetadata(claim, spec.podTemplate.metadata, hash);
  if ("problem" in metadata) return metadata;
  const pod = injectEnv(spec.podTemplate.spec, claim.spec.env ?? [], envVarsInjectionPolicy);
  if ("problem" in pod) return pod;
  return {
    value: {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: {
        name,
        namespace,
        labels: { ...identityOf(claim, hash), [launchTypeLabel]: "cold" },
        annotations: { [sandboxTemplateRefAnnotation]: templateName, [podNameAnnotation]: name, ...traceOf(claim) },
        ownerReferences: [controllerReference(sandboxClaims, claim)],
      },
      spec: {
        ...spec,
        podTemplate: { metadata: metadata.value, spec: pod.value },
        ...(volumes.value && { volumeClaimTemplates: volumes.value }),
        ...(claim.spec.restoreFrom && { restoreFrom: claim.spec.restoreFrom }),
      },
    },
  };
}

/** A pool member after its adoption by the claim. `blueprint` is that of the template it was created from, if it still exists. */
export function transferred(
  claim: SandboxClaim,
  member: Sandbox,
  { blueprint, templateName }: { blueprint: Blueprint | undefined; templateName: string },
): Outcome<Sandbox> {
  const given = blueprint === undefined ? withoutPool(member.spec.podTemplate.metadata) : metadataOf(blueprint);
  const podMetadata = claimedPodMetadata(claim, given, nameHash(templateName));
  if ("problem" in podMetadata) return podMetadata;
  const { labels } = member.metadata;
  const { [safeToEvictAnnotation]: _, ...annotations } = member.metadata.annotations ?? {};
  return {
    value: {
      ...member,
      metadata: {
        ...member.metadata,
        labels: {
          ...poolLabelsRemoved(labels),
          ...identityOf(claim, nameHash(templateName)),
          [launchTypeLabel]: "warm",
        },
        // Set in the same write as the owner: clients read the name of the Pod from it.
        annotations: { ...annotations, [podNameAnnotation]: member.metadata.name ?? "", ...traceOf(claim) },
        ownerReferences: [controllerReference(sandboxClaims, claim)],
      },
      spec: withPodMetadata(member.spec, podMetadata.value),
    },
  };
}

/** The claim's Sandbox with its metadata corrected. Without a blueprint the Pod's metadata stays as it is. */
export function upToDate(
  claim: SandboxClaim,
  sandbox: Sandbox,
  { blueprint, templateName }: { blueprint: Blueprint | undefined; templateName: string | undefined },
): Outcome<Sandbox> {
  if (templateName === undefined) return { value: sandbox };
  const hash = nameHash(templateName);
  const podMetadata = blueprint && claimedPodMetadata(claim, metadataOf(blueprint), hash);
  if (podMetadata !== undefined && "problem" in podMetadata) return podMetadata;
  const { [createdByLabel]: _, ...labels } = sandbox.metadata.labels ?? {};
  const launchType = labels[launchTypeLabel] ?? launchTypeOf(claim, sandbox);
  return {
    value: {
      ...sandbox,
      metadata: {
        ...sandbox.metadata,
        labels: { ...labels, ...identityOf(claim, hash), [launchTypeLabel]: launchType },
      },
      spec: podMetadata ? withPodMetadata(sandbox.spec, podMetadata.value) : sandbox.spec,
    },
  };
}

/** Only a cold start names a Sandbox after its claim, and earlier versions recorded only adopted members on the claim. */
function launchTypeOf(claim: SandboxClaim, sandbox: Sandbox): LaunchType {
  const { name } = sandbox.metadata;
  return name === claim.metadata.name && name !== referenceOf(claim)?.name ? "cold" : "warm";
}

function metadataOf({ template }: Blueprint): PodMetadata | undefined {
  return template.spec.podTemplate.metadata;
}

function traceOf({ metadata }: SandboxClaim): Record<string, string> {
  const trace = metadata.annotations?.[traceContextAnnotation];
  return trace === undefined ? {} : { [traceContextAnnotation]: trace };
}

function poolLabelsRemoved(labels: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const {
    [warmPoolSandboxLabel]: _pool,
    [sandboxTemplateHashLabel]: _hash,
    [sandboxPodTemplateHashLabel]: _podHash,
    [createdByLabel]: _by,
    ...kept
  } = labels ?? {};
  return kept;
}

/** Removes what pools of other implementations wrote into the pod template. An explicit `"false"` of the author stays. */
function withoutPool({ labels, annotations }: PodMetadata = {}): PodMetadata {
  const { [safeToEvictAnnotation]: evict, ...rest } = annotations ?? {};
  return {
    labels: poolLabelsRemoved(labels),
    annotations: evict === undefined || evict === "true" ? rest : { ...rest, [safeToEvictAnnotation]: evict },
  };
}
