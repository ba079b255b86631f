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
  suspendAfterSeconds: int32(10).exactOptional(),
  deleteAfterSeconds: int32(60).exactOptional(),
});

// resumePolicy and runtime have no stored default: see docs/adr/0002-added-fields-and-defaults.md.
export const blueprintFields: Fields<SandboxBlueprint> = {
  podTemplate,
  volumeClaimTemplates: atomicListOf(persistentVolumeClaimTemplate).exactOptional(),
  service: flag.exactOptional(),
  idlePolicy: idlePolicy.exactOptional(),
  resumePolicy: z.enum(resumePolicies).exactOptional(),
  runtime: z.enum(runtimes).exactOptional(),
  persistentVolumeClaimRetentionPolicy: objectOf<PersistentVolumeClaimRetentionPolicy>({
    whenDeleted: defaulted<VolumeClaimRetention>(z.enum(volumeClaimRetentions), "Delete"),
  }).exactOptional(),
};
