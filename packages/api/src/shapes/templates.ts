import type * as z from "zod";
import type { PersistentVolumeClaimSpec, PodSpec } from "../kubernetes.ts";
import { type NamedMetadata, namedMetadata, type PodMetadata, podMetadata } from "./metadata.ts";
import { kubernetesType, objectOf } from "./object-schema.ts";

/** The template of a Pod. Changes of the metadata are applied to the running Pod; the spec is used only to create a Pod. */
export interface PodTemplate {
  metadata?: PodMetadata;
  spec: PodSpec;
}

/** The template of a PersistentVolumeClaim, which is named `<metadata.name>-<sandbox name>`. */
export interface PersistentVolumeClaimTemplate {
  metadata?: NamedMetadata;
  spec: PersistentVolumeClaimSpec;
}

export const podTemplate: z.ZodType<PodTemplate> = objectOf<PodTemplate>({
  metadata: podMetadata
    .exactOptional()
    .describe("Labels and annotations of the Pod. Changes are applied to the running Pod."),
  spec: kubernetesType<PodSpec>("io.k8s.api.core.v1.PodSpec").describe(
    "The PodSpec. Changes take effect when the next Pod is created.",
  ),
});

export const persistentVolumeClaimTemplate: z.ZodType<PersistentVolumeClaimTemplate> =
  objectOf<PersistentVolumeClaimTemplate>({
    metadata: namedMetadata.exactOptional().describe("Name, labels and annotations of the PersistentVolumeClaim."),
    spec: kubernetesType<PersistentVolumeClaimSpec>("io.k8s.api.core.v1.PersistentVolumeClaimSpec").describe(
      "The PersistentVolumeClaimSpec.",
    ),
  });
