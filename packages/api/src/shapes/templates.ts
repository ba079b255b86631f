import type * as z from "zod";
import type { PersistentVolumeClaimSpec, PodSpec } from "../kubernetes.ts";
import { type NamedMetadata, namedMetadata, type PodMetadata, podMetadata } from "./metadata.ts";
import { kubernetesType, objectOf } from "./object-schema.ts";

/** What a Pod is made from. The metadata follows an existing Pod, the spec is used only when one is created. */
export interface PodTemplate {
  metadata?: PodMetadata;
  spec: PodSpec;
}

/** What a PersistentVolumeClaim is made from: it is named `<metadata.name>-<sandbox name>`. */
export interface PersistentVolumeClaimTemplate {
  metadata?: NamedMetadata;
  spec: PersistentVolumeClaimSpec;
}

export const podTemplate: z.ZodType<PodTemplate> = objectOf<PodTemplate>({
  metadata: podMetadata.exactOptional().describe("Labels and annotations of the Pod. Changes reach a Pod that runs."),
  spec: kubernetesType<PodSpec>("io.k8s.api.core.v1.PodSpec").describe(
    "The Pod, as Kubernetes specifies it. Changes take effect with the next Pod.",
  ),
});

export const persistentVolumeClaimTemplate: z.ZodType<PersistentVolumeClaimTemplate> =
  objectOf<PersistentVolumeClaimTemplate>({
    metadata: namedMetadata.exactOptional().describe("Name, labels and annotations of the claim."),
    spec: kubernetesType<PersistentVolumeClaimSpec>("io.k8s.api.core.v1.PersistentVolumeClaimSpec").describe(
      "The storage to ask for, as Kubernetes specifies it.",
    ),
  });
