import * as z from "zod";
import { atomicListOf, defaulted, type Fields, flag, int32, objectOf } from "../shapes/object-schema.ts";
import {
  type PersistentVolumeClaimTemplate,
  type PodTemplate,
  persistentVolumeClaimTemplate,
  podTemplate,
} from "../shapes/templates.ts";
import { type RestoreFrom, restoreFrom, type SuspendPolicy, suspendPolicy } from "./suspension.ts";

/** Whether traffic to a suspended Sandbox resumes it. Absent means OnTraffic. */
export const resumePolicies = ["OnTraffic", "Manual"] as const;
export type ResumePolicy = (typeof resumePolicies)[number];

/** Whether the container runs its own first process, or the daemon sandboxd is injected as the first process. Absent means Image. */
export const runtimes = ["Image", "Injected"] as const;
export type Runtime = (typeof runtimes)[number];

/** Whether an open connection without traffic counts as activity. Absent means KeepAwake. */
export const idleConnections = ["KeepAwake", "MaySleep"] as const;
export type IdleConnections = (typeof idleConnections)[number];

export const volumeClaimRetentions = ["Delete", "Retain"] as const;
export type VolumeClaimRetention = (typeof volumeClaimRetentions)[number];

/** What happens to a Sandbox without activity. Each limit is off when absent. */
export interface IdlePolicy {
  suspendAfterSeconds?: number;
  deleteAfterSeconds?: number;
  connections?: IdleConnections;
}

/** What happens to the PersistentVolumeClaims of a Sandbox when the Sandbox is deleted. */
export interface PersistentVolumeClaimRetentionPolicy {
  whenDeleted?: VolumeClaimRetention;
}

/** The fields that Sandbox and SandboxTemplate share. */
export interface SandboxBlueprint {
  podTemplate: PodTemplate;
  volumeClaimTemplates?: PersistentVolumeClaimTemplate[];
  /** True: create a headless Service. False: delete it. Absent: keep an existing one, but do not create one. */
  service?: boolean;
  idlePolicy?: IdlePolicy;
  suspendPolicy?: SuspendPolicy;
  restoreFrom?: RestoreFrom;
  resumePolicy?: ResumePolicy;
  runtime?: Runtime;
  persistentVolumeClaimRetentionPolicy?: PersistentVolumeClaimRetentionPolicy;
}

// With less than ten seconds a Sandbox could be suspended while it starts; with less than a minute, deleted before anybody uses it.
const idlePolicy = objectOf<IdlePolicy>({
  suspendAfterSeconds: int32(10)
    .exactOptional()
    .describe("Suspends the Sandbox after this many seconds without activity. Absent: never."),
  deleteAfterSeconds: int32(60)
    .exactOptional()
    .describe("Deletes the Sandbox after this many seconds without activity. Absent: never."),
  connections: z
    .enum(idleConnections)
    .exactOptional()
    .describe(
      "Whether an open connection without traffic keeps the Sandbox awake (KeepAwake), or lets it be suspended (MaySleep). Absent: KeepAwake.",
    ),
});

// suspendPolicy, resumePolicy and runtime have no stored default: see docs/adr/0002-added-fields-and-defaults.md.
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
  idlePolicy: idlePolicy.exactOptional().describe("What happens to the Sandbox when it is idle."),
  suspendPolicy: suspendPolicy.exactOptional().describe("What is kept while the Sandbox is suspended."),
  restoreFrom: restoreFrom
    .exactOptional()
    .describe(
      "The snapshot that a new Sandbox starts from, and to which a suspended Sandbox returns when it is resumed.",
    ),
  resumePolicy: z
    .enum(resumePolicies)
    .exactOptional()
    .describe(
      "Whether traffic wakes a suspended Sandbox. Absent: traffic wakes a Sandbox that was suspended because it was idle.",
    ),
  runtime: z
    .enum(runtimes)
    .exactOptional()
    .describe(
      "Whether the first process is that of the image, or the daemon sandboxd, which runs commands and transfers files. Absent: Image.",
    ),
  persistentVolumeClaimRetentionPolicy: objectOf<PersistentVolumeClaimRetentionPolicy>({
    whenDeleted: defaulted<VolumeClaimRetention>(z.enum(volumeClaimRetentions), "Delete").describe(
      "Whether the PersistentVolumeClaims are deleted with the Sandbox or kept.",
    ),
  })
    .exactOptional()
    .describe("What happens to the PersistentVolumeClaims of the Sandbox."),
};
