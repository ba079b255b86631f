import * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { type Condition, condition } from "../shapes/condition.ts";
import { dateTime, defaulted, flag, int32, int64, listOf, objectOf, text } from "../shapes/object-schema.ts";
import type { NameReference } from "../shapes/pool-shapes.ts";

export const snapshotDepths = ["Filesystem", "Memory"] as const;
export type SnapshotDepth = (typeof snapshotDepths)[number];

export const snapshotVolumes = ["Include", "Exclude"] as const;
export type SnapshotVolumes = (typeof snapshotVolumes)[number];

export const snapshotDeletionPolicies = ["Delete", "Retain"] as const;
export type SnapshotDeletionPolicy = (typeof snapshotDeletionPolicies)[number];

export interface SandboxSnapshotSpec {
  /** The source: exactly one of `sandboxRef` and `claimRef`. */
  sandboxRef?: NameReference;
  claimRef?: NameReference;
  /** Absent: the greatest depth that the runtime supports. */
  depth?: SnapshotDepth;
  volumes?: SnapshotVolumes;
  /** Absent: the snapshot does not expire. */
  ttlSecondsAfterCreation?: number;
  deletionPolicy?: SnapshotDeletionPolicy;
}

export interface SnapshotRuntime {
  name: string;
  version: string;
}

export interface SandboxSnapshotStatus {
  /** `Ready`, and `Failed` for a snapshot that will never be ready. */
  conditions?: Condition[];
  depth?: SnapshotDepth;
  sizeBytes?: number;
  pauseMilliseconds?: number;
  node?: string;
  runtime?: SnapshotRuntime;
  sourceName?: string;
  sourceUID?: string;
  /** The epoch of the source when the snapshot was taken. */
  epoch?: number;
  /** RFC 3339. */
  createdAt?: string;
  restorable?: boolean;
}

/** The state of a Sandbox at one instant, which other Sandboxes can start from. */
export interface SandboxSnapshot {
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1";
  kind: "SandboxSnapshot";
  metadata: ObjectMeta;
  spec: SandboxSnapshotSpec;
  status?: SandboxSnapshotStatus;
}

// Bounded, so that the API server can estimate the cost of the rules that compare references.
const source: z.ZodType<NameReference> = objectOf<NameReference>({
  name: z.string().min(1).max(253).describe("The name of the object, in the same namespace."),
});

const tenYearsInSeconds = 10 * 365 * 24 * 60 * 60;

function unchanged(field: string): string {
  return `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`;
}

export const sandboxSnapshotSpec: z.ZodType<SandboxSnapshotSpec> = objectOf<SandboxSnapshotSpec>({
  sandboxRef: source.exactOptional().describe("The Sandbox to take the snapshot of."),
  claimRef: source.exactOptional().describe("The SandboxClaim whose Sandbox to take the snapshot of."),
  depth: z
    .enum(snapshotDepths)
    .exactOptional()
    .describe("What is captured: files, or files and memory. Absent: the greatest depth that the runtime supports."),
  volumes: defaulted<SnapshotVolumes>(z.enum(snapshotVolumes), "Include").describe(
    "Whether the volumes of the Sandbox are captured. Include fails if one of them is not a local volume of the node.",
  ),
  ttlSecondsAfterCreation: int32(1, tenYearsInSeconds)
    .exactOptional()
    .describe("The age at which the snapshot is deleted. Absent: it does not expire."),
  deletionPolicy: defaulted<SnapshotDeletionPolicy>(z.enum(snapshotDeletionPolicies), "Delete").describe(
    "Whether the snapshot is deleted with its Sandbox or kept.",
  ),
}).meta({
  "x-kubernetes-validations": [
    {
      message: "exactly one of sandboxRef and claimRef is required",
      rule: "has(self.sandboxRef) != has(self.claimRef)",
    },
    ...["sandboxRef", "claimRef", "depth", "volumes"].map((field) => ({
      message: `${field} is immutable`,
      rule: unchanged(field),
    })),
  ],
});

export const sandboxSnapshotStatus: z.ZodType<SandboxSnapshotStatus> = objectOf<SandboxSnapshotStatus>({
  conditions: listOf(condition)
    .exactOptional()
    .describe(
      "Ready is True if the snapshot is complete. Failed is True if it will never be; its reason says why not.",
    ),
  depth: z.enum(snapshotDepths).exactOptional().describe("What was captured."),
  sizeBytes: int64(0).exactOptional().describe("The size of the snapshot on the node."),
  pauseMilliseconds: int64(0).exactOptional().describe("How long the Sandbox stood still."),
  node: text.exactOptional().describe("The node that keeps the snapshot."),
  runtime: objectOf<SnapshotRuntime>({
    name: text.describe("The name of the runtime, such as runsc."),
    version: text.describe("The version of the runtime. Memory is restored only by the same version."),
  })
    .exactOptional()
    .describe("The runtime of the Sandbox."),
  sourceName: text.exactOptional().describe("The name of the Sandbox."),
  sourceUID: text.exactOptional().describe("The UID of the Sandbox."),
  epoch: int64(0).exactOptional().describe("The epoch of the Sandbox when the snapshot was taken."),
  createdAt: dateTime.exactOptional().describe("When the state was captured."),
  restorable: flag.exactOptional().describe("Whether the node that keeps the snapshot can restore it now."),
});
