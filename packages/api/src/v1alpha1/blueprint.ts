import { atomicListOf, type Fields, flag } from "../shapes/object-schema.ts";
import {
  type PersistentVolumeClaimTemplate,
  type PodTemplate,
  persistentVolumeClaimTemplate,
  podTemplate,
} from "../shapes/templates.ts";

/** The fields that Sandbox and SandboxTemplate share in v1alpha1. */
export interface SandboxBlueprint {
  podTemplate: PodTemplate;
  volumeClaimTemplates?: PersistentVolumeClaimTemplate[];
  /** True: create a headless Service. False: delete it. Absent: keep an existing one, but do not create one. */
  service?: boolean;
}

export const blueprintFields: Fields<SandboxBlueprint> = {
  podTemplate: podTemplate.describe("The template of the Pod that the Sandbox runs."),
  volumeClaimTemplates: atomicListOf(persistentVolumeClaimTemplate)
    .exactOptional()
    .describe(
      "Volumes that are kept when the Pod is deleted. A PersistentVolumeClaim is created for each template and mounted in the Pod as a volume of that name.",
    ),
  service: flag
    .exactOptional()
    .describe("Whether the Sandbox has a headless Service. Absent: an existing Service is kept, but none is created."),
};
