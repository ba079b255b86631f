import type * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type EnvVar, envVar, type Lifecycle, lifecycle, type SandboxClaimStatus } from "../shapes/claim-shapes.ts";
import { type PodMetadata, podMetadata } from "../shapes/metadata.ts";
import { atomicListOf, objectOf } from "../shapes/object-schema.ts";
import { type NameReference, nameReference } from "../shapes/pool-shapes.ts";
import { type PersistentVolumeClaimTemplate, persistentVolumeClaimTemplate } from "../shapes/templates.ts";

export interface SandboxClaimSpec {
  /** The pool to take from, in the claim's own namespace. Its template serves cold starts. */
  warmPoolRef: NameReference;
  lifecycle?: Lifecycle;
  additionalPodMetadata?: PodMetadata;
  /** One entry or more forces a cold start. */
  env?: EnvVar[];
  /** One entry or more forces a cold start. */
  volumeClaimTemplates?: PersistentVolumeClaimTemplate[];
}

/** Asks for one Sandbox, warm if a pool has one ready. */
export interface SandboxClaim {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1";
  kind: "SandboxClaim";
  metadata: ObjectMeta;
  spec: SandboxClaimSpec;
  status?: SandboxClaimStatus;
}

export const sandboxClaimSpec: z.ZodType<SandboxClaimSpec> = objectOf<SandboxClaimSpec>({
  warmPoolRef: nameReference.describe(
    "The SandboxWarmPool to take from. When it has none ready, a Sandbox is made from its template.",
  ),
  lifecycle: lifecycle.exactOptional().describe("When the claim ends. Absent: only when it is deleted."),
  additionalPodMetadata: podMetadata
    .exactOptional()
    .describe("Labels and annotations to add to the Pod. They may not change those of the template."),
  env: atomicListOf(envVar)
    .exactOptional()
    .describe(
      "Variables to add to containers, as far as the template allows. With one or more, the Sandbox is not taken from a warm pool.",
    ),
  volumeClaimTemplates: atomicListOf(persistentVolumeClaimTemplate)
    .exactOptional()
    .describe(
      "Volumes to add, as far as the template allows. With one or more, the Sandbox is not taken from a warm pool.",
    ),
});
