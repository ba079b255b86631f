import * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type Condition, condition } from "../shapes/condition.ts";
import { listOf, objectOf, text } from "../shapes/object-schema.ts";
import { type NameReference, nameReference } from "../shapes/pool-shapes.ts";

export interface PodSnapshotSpec {
  /** The SandboxSnapshot with the state. */
  snapshotRef: NameReference;
}

export interface PodSnapshotStatus {
  /** `Ready`. */
  conditions?: Condition[];
}

/** A SandboxSnapshot of depth Memory as clients of GKE's Pod snapshots see it. */
export interface PodSnapshot {
  apiVersion: "podsnapshot.gke.io/v1";
  kind: "PodSnapshot";
  metadata: ObjectMeta;
  spec: PodSnapshotSpec;
  status?: PodSnapshotStatus;
}

export interface PodSnapshotManualTriggerSpec {
  targetPod: string;
}

export interface PodSnapshotManualTriggerStatus {
  /** `Triggered`: True with the reason `Complete`, or False with the reason `Failed`. */
  conditions?: Condition[];
  /** The PodSnapshot. */
  snapshotCreated?: NameReference;
}

/** Asks once for a PodSnapshot of a Pod. */
export interface PodSnapshotManualTrigger {
  apiVersion: "podsnapshot.gke.io/v1";
  kind: "PodSnapshotManualTrigger";
  metadata: ObjectMeta;
  spec: PodSnapshotManualTriggerSpec;
  status?: PodSnapshotManualTriggerStatus;
}

export const podSnapshotSpec: z.ZodType<PodSnapshotSpec> = objectOf<PodSnapshotSpec>({
  snapshotRef: nameReference.describe("The SandboxSnapshot with the state."),
});

export const podSnapshotStatus: z.ZodType<PodSnapshotStatus> = objectOf<PodSnapshotStatus>({
  conditions: listOf(condition).exactOptional().describe("Ready is True if the snapshot is complete."),
});

export const podSnapshotManualTriggerSpec: z.ZodType<PodSnapshotManualTriggerSpec> =
  objectOf<PodSnapshotManualTriggerSpec>({
    targetPod: z
      .string()
      .min(1)
      .max(253)
      .describe("The name of the Pod, in the same namespace. A Sandbox must own it.")
      .meta({ "x-kubernetes-validations": [{ message: "targetPod is immutable", rule: "self == oldSelf" }] }),
  });

export const podSnapshotManualTriggerStatus: z.ZodType<PodSnapshotManualTriggerStatus> =
  objectOf<PodSnapshotManualTriggerStatus>({
    conditions: listOf(condition)
      .exactOptional()
      .describe("Triggered is True when the snapshot is complete, and False with the reason Failed if there is none."),
    snapshotCreated: objectOf<NameReference>({ name: text.describe("The name of the PodSnapshot.") })
      .exactOptional()
      .describe("The PodSnapshot that was created."),
  });
