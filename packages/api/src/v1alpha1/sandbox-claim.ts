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
  sandboxTemplateRef: nameReference.describe("The SandboxTemplate that the Sandbox is created from."),
  warmpool: defaulted(text, "default").describe(
    "The pool to take a Sandbox from: the name of a pool, default for any pool of the template, or none.",
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
});
