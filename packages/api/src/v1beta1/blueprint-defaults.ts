import type { ResumePolicy, Runtime, SandboxBlueprint, VolumeClaimRetention } from "./blueprint.ts";

/** The choices of a blueprint that have a meaning even when they are not written down. */
export interface BlueprintChoices {
  readonly resumePolicy: ResumePolicy;
  readonly runtime: Runtime;
  readonly volumeClaimsWhenDeleted: VolumeClaimRetention;
}

/** Reads a blueprint with the defaults filled in. Use this instead of the fields: they are not defaulted in the store. */
export function blueprintChoices(blueprint: SandboxBlueprint): BlueprintChoices {
  return {
    resumePolicy: blueprint.resumePolicy ?? "OnTraffic",
    runtime: blueprint.runtime ?? "Image",
    volumeClaimsWhenDeleted: blueprint.persistentVolumeClaimRetentionPolicy?.whenDeleted ?? "Delete",
  };
}
