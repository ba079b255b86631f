import { atomicListOf, type Fields, flag } from "../shapes/object-schema.ts";
import {
  type PersistentVolumeClaimTemplate,
  type PodTemplate,
  persistentVolumeClaimTemplate,
  podTemplate,
} from "../shapes/templates.ts";

/** What Sandbox and SandboxTemplate share. The fields that v1beta1 adds have no place here. */
export interface SandboxBlueprint {
  podTemplate: PodTemplate;
  volumeClaimTemplates?: PersistentVolumeClaimTemplate[];
  /** True: have a headless Service. False: have none. Absent: keep one that is there, make none. */
  service?: boolean;
}

export const blueprintFields: Fields<SandboxBlueprint> = {
  podTemplate: podTemplate.describe("The Pod that the Sandbox runs."),
  volumeClaimTemplates: atomicListOf(persistentVolumeClaimTemplate)
    .exactOptional()
    .describe(
      "Volumes that outlive the Pod: a PersistentVolumeClaim is made for each, and the Pod has it as a volume of that name.",
    ),
  service: flag
    .exactOptional()
    .describe("Whether the Sandbox has a headless Service. Absent: one that is there is kept, none is made."),
};
