import { isConditionTrue, removeCondition, type SandboxSnapshotStatus, setCondition } from "@agent-sandbox/api";
import type { CaptureProblem, ObservedSnapshot } from "./decide-snapshot.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";

type Conditions = NonNullable<SandboxSnapshotStatus["conditions"]>;

export function isFailed(status: SandboxSnapshotStatus | undefined): boolean {
  return isConditionTrue(status?.conditions, "Failed");
}

/** The status of a complete snapshot. */
export function readyStatus(
  { snapshot, nodeName, isRestorable, obstacle }: ObservedSnapshot,
  stored: StoredSnapshot,
  now: number,
): SandboxSnapshotStatus {
  const { depth, sizeBytes, pauseMs, runtime, sandbox, epoch, createdAt } = stored;
  const intact = removeCondition(snapshot.status?.conditions, "Failed");
  const before =
    obstacle === undefined
      ? removeCondition(intact, "Restorable")
      : setCondition(intact, { type: "Restorable", status: "False", ...obstacle, ...generationOf(snapshot) }, now);
  return {
    conditions: ready(
      snapshot,
      before,
      { status: "True", reason: "Complete", message: "The snapshot is complete" },
      now,
    ),
    depth,
    sizeBytes,
    pauseMilliseconds: pauseMs,
    node: nodeName,
    runtime: { ...runtime },
    sourceName: sandbox.name,
    sourceUID: sandbox.uid,
    epoch,
    // With milliseconds: of two snapshots of the same second, a Sandbox resumes from the later one.
    createdAt: new Date(createdAt).toISOString(),
    restorable: isRestorable,
  };
}

/** The status of a snapshot whose source cannot be captured yet. */
export function pendingStatus(
  { snapshot }: ObservedSnapshot,
  { reason, message }: CaptureProblem,
  now: number,
): SandboxSnapshotStatus {
  const { status = {} } = snapshot;
  return { ...status, conditions: ready(snapshot, status.conditions, { status: "False", reason, message }, now) };
}

/** The status of a snapshot that will never be ready. */
export function failedStatus(
  { snapshot, nodeName }: ObservedSnapshot,
  { reason, message }: CaptureProblem,
  now: number,
): SandboxSnapshotStatus {
  const { status = {} } = snapshot;
  const conditions = ready(snapshot, status.conditions, { status: "False", reason, message }, now);
  const failed = { type: "Failed", status: "True", reason, message, ...generationOf(snapshot) } as const;
  return { ...status, node: nodeName, conditions: setCondition(conditions, failed, now), restorable: false };
}

/** The status of a snapshot whose files are gone or cannot be read. */
export function lostStatus({ snapshot }: ObservedSnapshot, now: number): SandboxSnapshotStatus {
  const { status = {} } = snapshot;
  const lost = {
    status: "False",
    reason: "ImageMissing",
    message: "The files of the snapshot are missing or damaged",
  } as const;
  return { ...status, conditions: ready(snapshot, status.conditions, lost, now), restorable: false };
}

function ready(
  snapshot: ObservedSnapshot["snapshot"],
  before: Conditions | undefined,
  report: { readonly status: "True" | "False"; readonly reason: string; readonly message: string },
  now: number,
): Conditions {
  return setCondition(before, { type: "Ready", ...report, ...generationOf(snapshot) }, now);
}

function generationOf({ metadata: { generation } }: ObservedSnapshot["snapshot"]): { observedGeneration?: number } {
  return generation === undefined ? {} : { observedGeneration: generation };
}
