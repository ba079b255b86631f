import * as z from "zod";
import { dateTime, int64, objectOf, text } from "../shapes/object-schema.ts";
import { type NameReference, nameReference } from "../shapes/pool-shapes.ts";

/** What a suspension keeps, each depth more than the one before: volume claims, the root filesystem, processes and memory. */
export const suspendDepths = ["Volumes", "Filesystem", "Memory"] as const;
export type SuspendDepth = (typeof suspendDepths)[number];

/** What happens if the wanted depth cannot be reached: a lower one is used, or the Sandbox keeps running. Absent means Allow. */
export const suspendFallbacks = ["Allow", "Refuse"] as const;
export type SuspendFallback = (typeof suspendFallbacks)[number];

/** Absent parts mean what happens without a policy: the depth that the installation gives to every Sandbox. */
export interface SuspendPolicy {
  depth?: SuspendDepth;
  fallback?: SuspendFallback;
}

/** The SandboxSnapshot that a Sandbox starts from. */
export interface RestoreFrom {
  snapshotRef: NameReference;
}

/** A SandboxSnapshot that was restored. */
export interface RestoredSnapshot {
  name?: string;
  uid: string;
}

/**
 * The last suspension of a Sandbox, and how it was resumed. A suspension removes `restored`, and the resume sets it again: a
 * Sandbox with the depth Memory and without `restored` has saved memory that no Pod has continued yet.
 */
export interface SuspensionStatus {
  /** What the last suspension kept. */
  depth?: SuspendDepth;
  /** When the Sandbox was last suspended. RFC 3339. */
  time?: string;
  sizeBytes?: number;
  epoch?: number;
  /** What the last resume restored. */
  restored?: SuspendDepth;
  /** The snapshot of `spec.restoreFrom`, once it was restored: it is not restored a second time. */
  restoredFrom?: RestoredSnapshot;
  /** Why the last suspension or resume did not reach the wanted depth. */
  reason?: string;
  message?: string;
}

export const suspendPolicy: z.ZodType<SuspendPolicy> = objectOf<SuspendPolicy>({
  depth: z
    .enum(suspendDepths)
    .exactOptional()
    .describe(
      "What is kept: Volumes, Filesystem (also the root filesystem) or Memory (also processes and connections). Absent: what the installation keeps by default.",
    ),
  fallback: z
    .enum(suspendFallbacks)
    .exactOptional()
    .describe(
      "Whether a lower depth is used (Allow) or the Sandbox keeps running (Refuse) if the depth cannot be reached. Absent: Allow.",
    ),
});

export const restoreFrom: z.ZodType<RestoreFrom> = objectOf<RestoreFrom>({
  snapshotRef: nameReference.describe("The SandboxSnapshot, in the same namespace."),
});

export const suspensionStatus: z.ZodType<SuspensionStatus> = objectOf<SuspensionStatus>({
  depth: z.enum(suspendDepths).exactOptional().describe("What the last suspension kept."),
  time: dateTime.exactOptional().describe("When the Sandbox was last suspended."),
  sizeBytes: int64(0).exactOptional().describe("The size of the saved memory, in bytes."),
  epoch: int64(0)
    .exactOptional()
    .describe("How often the Sandbox continued from saved memory. It also grows with each fork and rollback."),
  restored: z.enum(suspendDepths).exactOptional().describe("What the last resume restored."),
  restoredFrom: objectOf<RestoredSnapshot>({
    name: text.exactOptional().describe("The name of the SandboxSnapshot."),
    uid: text.describe("The UID of the SandboxSnapshot."),
  })
    .exactOptional()
    .describe("The snapshot of spec.restoreFrom, once it was restored. It is not restored a second time."),
  reason: text
    .exactOptional()
    .describe("The machine-readable reason why the last suspension or resume did not reach the wanted depth."),
  message: text.exactOptional().describe("The explanation of that reason."),
});
