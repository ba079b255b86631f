import type { ResumePolicy, Runtime, SandboxBlueprint, VolumeClaimRetention } from "./blueprint.ts";

/** The fields of a blueprint that have a default that is not stored. */
export interface BlueprintChoices {
  readonly resumePolicy: ResumePolicy;
  readonly runtime: Runtime;
  readonly volumeClaimsWhenDeleted: VolumeClaimRetention;
}

/** Fills in the defaults of these fields. Use it instead of reading the fields: the API server does not store their defaults. */
export function blueprintChoices(blueprint: SandboxBlueprint): BlueprintChoices {
  return {
    resumePolicy: blueprint.resumePolicy ?? "OnTraffic",
    runtime: blueprint.runtime ?? "Image",
    volumeClaimsWhenDeleted: blueprint.persistentVolumeClaimRetentionPolicy?.whenDeleted ?? "Delete",
  };
}
