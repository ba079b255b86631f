import type { IdleConnections, ResumePolicy, Runtime, SandboxBlueprint, VolumeClaimRetention } from "./blueprint.ts";
import type { SuspendFallback } from "./suspension.ts";

/** The fields of a blueprint that have a default that is not stored. */
export interface BlueprintChoices {
  readonly resumePolicy: ResumePolicy;
  readonly runtime: Runtime;
  readonly suspendFallback: SuspendFallback;
  readonly idleConnections: IdleConnections;
  readonly volumeClaimsWhenDeleted: VolumeClaimRetention;
}

/** Fills in the defaults of these fields. Use it instead of reading the fields: the API server does not store their defaults. */
export function blueprintChoices(blueprint: SandboxBlueprint): BlueprintChoices {
  return {
    resumePolicy: blueprint.resumePolicy ?? "OnTraffic",
    runtime: blueprint.runtime ?? "Image",
    suspendFallback: blueprint.suspendPolicy?.fallback ?? "Allow",
    idleConnections: blueprint.idlePolicy?.connections ?? "KeepAwake",
    volumeClaimsWhenDeleted: blueprint.persistentVolumeClaimRetentionPolicy?.whenDeleted ?? "Delete",
  };
}
