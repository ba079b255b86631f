import type * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type EnvVar, envVar, type Lifecycle, lifecycle, type SandboxClaimStatus } from "../shapes/claim-shapes.ts";
import { type PodMetadata, podMetadata } from "../shapes/metadata.ts";
import { atomicListOf, objectOf } from "../shapes/object-schema.ts";
import { type NameReference, nameReference } from "../shapes/pool-shapes.ts";
import { type PersistentVolumeClaimTemplate, persistentVolumeClaimTemplate } from "../shapes/templates.ts";
import { type RestoreFrom, restoreFrom } from "./suspension.ts";

export interface SandboxClaimSpec {
  /** The pool to take a Sandbox from, in the claim's namespace. If none is ready, one is created from the pool's template. */
  warmPoolRef: NameReference;
  lifecycle?: Lifecycle;
  additionalPodMetadata?: PodMetadata;
  /** A claim with entries does not get a Sandbox from the pool. */
  env?: EnvVar[];
  /** A claim with entries does not get a Sandbox from the pool. */
  volumeClaimTemplates?: PersistentVolumeClaimTemplate[];
  /** A claim with a snapshot gets a Sandbox from the pool only if the pool's template names the same snapshot. */
  restoreFrom?: RestoreFrom;
}

/** Requests one Sandbox: one from the pool if it is ready, else a new one. */
export interface SandboxClaim {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1";
  kind: "SandboxClaim";
  metadata: ObjectMeta;
  spec: SandboxClaimSpec;
  status?: SandboxClaimStatus;
}

export const sandboxClaimSpec: z.ZodType<SandboxClaimSpec> = objectOf<SandboxClaimSpec>({
  warmPoolRef: nameReference.describe(
    "The SandboxWarmPool to take a Sandbox from. If no Sandbox is ready, one is created from the template of the pool.",
  ),
  lifecycle: lifecycle.exactOptional().describe("When the claim expires. Absent: never."),
  additionalPodMetadata: podMetadata
    .exactOptional()
    .describe("Labels and annotations to add to the Pod. They cannot change those of the template."),
  env: atomicListOf(envVar)
    .exactOptional()
    .describe(
      "Environment variables to add to containers, if the template allows it. A claim with variables does not get a Sandbox from a warm pool.",
    ),
  volumeClaimTemplates: atomicListOf(persistentVolumeClaimTemplate)
    .exactOptional()
    .describe(
      "Volumes to add, if the template allows it. A claim with volumes does not get a Sandbox from a warm pool.",
    ),
  restoreFrom: restoreFrom
    .exactOptional()
    .describe("The snapshot that the Sandbox starts from. It replaces the snapshot of the template."),
});
