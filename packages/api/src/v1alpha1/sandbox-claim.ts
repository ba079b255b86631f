import type * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type EnvVar, envVar, type Lifecycle, lifecycle, type SandboxClaimStatus } from "../shapes/claim-shapes.ts";
import { type PodMetadata, podMetadata } from "../shapes/metadata.ts";
import { atomicListOf, defaulted, objectOf, text } from "../shapes/object-schema.ts";
import { type NameReference, nameReference } from "../shapes/pool-shapes.ts";

export interface SandboxClaimSpec {
  sandboxTemplateRef: NameReference;
  /** `none`, `default`, or the name of a pool. */
  warmpool?: string;
  lifecycle?: Lifecycle;
  additionalPodMetadata?: PodMetadata;
  env?: EnvVar[];
}

export interface SandboxClaim {
  apiVersion: "extensions.agents.x-k8s.io/v1alpha1";
  kind: "SandboxClaim";
  metadata: ObjectMeta;
  spec: SandboxClaimSpec;
  status?: SandboxClaimStatus;
}

export const sandboxClaimSpec: z.ZodType<SandboxClaimSpec> = objectOf<SandboxClaimSpec>({
  sandboxTemplateRef: nameReference,
  warmpool: defaulted(text, "default"),
  lifecycle: lifecycle.exactOptional(),
  additionalPodMetadata: podMetadata.exactOptional(),
  env: atomicListOf(envVar).exactOptional(),
});
