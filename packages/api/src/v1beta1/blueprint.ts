import * as z from "zod";
import { atomicListOf, defaulted, type Fields, flag, int32, objectOf } from "../shapes/object-schema.ts";
import {
  type PersistentVolumeClaimTemplate,
  type PodTemplate,
  persistentVolumeClaimTemplate,
  podTemplate,
} from "../shapes/templates.ts";

/** Whether traffic to a suspended Sandbox resumes it. Absent means OnTraffic. */
export const resumePolicies = ["OnTraffic", "Manual"] as const;
export type ResumePolicy = (typeof resumePolicies)[number];

/** Whether the image brings its own process, or the platform's daemon is injected as the first one. Absent means Image. */
export const runtimes = ["Image", "Injected"] as const;
export type Runtime = (typeof runtimes)[number];

export const volumeClaimRetentions = ["Delete", "Retain"] as const;
export type VolumeClaimRetention = (typeof volumeClaimRetentions)[number];

/** What to do with a Sandbox that sees no activity. Each part is off when absent. */
export interface IdlePolicy {
  suspendAfterSeconds?: number;
  deleteAfterSeconds?: number;
}

/** What becomes of the PersistentVolumeClaims made for a Sandbox. */
export interface PersistentVolumeClaimRetentionPolicy {
  whenDeleted?: VolumeClaimRetention;
}

/** What a Sandbox is made of: the part that Sandbox and SandboxTemplate share. */
export interface SandboxBlueprint {
  podTemplate: PodTemplate;
  volumeClaimTemplates?: PersistentVolumeClaimTemplate[];
  /** True: have a headless Service. False: have none. Absent: keep one that is there, make none. */
  service?: boolean;
  idlePolicy?: IdlePolicy;
  resumePolicy?: ResumePolicy;
  runtime?: Runtime;
  persistentVolumeClaimRetentionPolicy?: PersistentVolumeClaimRetentionPolicy;
}

// Below ten seconds a Sandbox would be suspended while it still starts, below a minute deleted before anyone could look.
const idlePolicy = objectOf<IdlePolicy>({
  suspendAfterSeconds: int32(10)
    .exactOptional()
    .describe("Suspends the Sandbox after so long without activity. Absent: never."),
  deleteAfterSeconds: int32(60)
    .exactOptional()
    .describe("Deletes the Sandbox after so long without activity. Absent: never."),
});

// resumePolicy and runtime have no stored default: see docs/adr/0002-added-fields-and-defaults.md.
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
  idlePolicy: idlePolicy.exactOptional().describe("What happens to the Sandbox when nobody uses it."),
  resumePolicy: z
    .enum(resumePolicies)
    .exactOptional()
    .describe("Whether traffic wakes a suspended Sandbox. Absent: OnTraffic."),
  runtime: z
    .enum(runtimes)
    .exactOptional()
    .describe(
      "Whether the image brings its own first process, or the platform's daemon is put in as the first one, which runs commands and moves files. Absent: Image.",
    ),
  persistentVolumeClaimRetentionPolicy: objectOf<PersistentVolumeClaimRetentionPolicy>({
    whenDeleted: defaulted<VolumeClaimRetention>(z.enum(volumeClaimRetentions), "Delete").describe(
      "Whether they go with the Sandbox or stay.",
    ),
  })
    .exactOptional()
    .describe("What becomes of the PersistentVolumeClaims that were made for the Sandbox."),
};
