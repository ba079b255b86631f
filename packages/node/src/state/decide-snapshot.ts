import {
  findCondition,
  importedAnnotation,
  isConditionTrue,
  type OwnerReference,
  parseTime,
  type SandboxSnapshot,
  type SandboxSnapshotStatus,
  type StateReason,
  sandboxes,
} from "@agent-sandbox/api";
import { failedStatus, isFailed, lostStatus, pendingStatus, readyStatus } from "./snapshot-status.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";

/** Keeps a SandboxSnapshot until its files are removed. */
export const snapshotFinalizer = "snapshots.agents.x-k8s.io/files";

/** Why a capture gave no snapshot. It is tried again unless that would change nothing. */
export interface CaptureProblem {
  readonly reason: StateReason;
  readonly message: string;
  readonly isFinal: boolean;
}

export interface ObservedSnapshot {
  readonly snapshot: SandboxSnapshot;
  readonly nodeName: string;
  /** The complete snapshot on the disk. */
  readonly stored: StoredSnapshot | undefined;
  /** Whether this node can restore it now, and if not, why. */
  readonly isRestorable: boolean;
  readonly obstacle?: Omit<CaptureProblem, "isFinal"> | undefined;
  /** The result of a capture in this pass that failed. */
  readonly problem?: CaptureProblem;
}

export type SnapshotAction =
  /** Sets the finalizer and the owner. */
  | { readonly do: "hold"; readonly finalizers: readonly string[]; readonly ownerReferences: readonly OwnerReference[] }
  | { readonly do: "capture" }
  | { readonly do: "remove-files" }
  | { readonly do: "release"; readonly finalizers: readonly string[] }
  | { readonly do: "delete" };

export interface SnapshotDecision {
  readonly actions: readonly SnapshotAction[];
  readonly memory: undefined;
  readonly status?: SandboxSnapshotStatus;
  readonly requeueAt?: number | undefined;
}

/** For a source that is still starting when the snapshot is created, as when both are applied together. */
const waitForSourceMs = 60_000;
const retryMs = 1000;

/** What to do about one SandboxSnapshot. */
export function decideSnapshot(observed: ObservedSnapshot, _memory: undefined, now: number): SnapshotDecision {
  const { snapshot, stored, nodeName } = observed;
  const { metadata, status } = snapshot;
  if (status?.node !== undefined && status.node !== nodeName) return nothing();
  if (metadata.deletionTimestamp !== undefined) return leave(snapshot);
  const expiresAt = expiryOf(snapshot);
  if (expiresAt !== undefined && now >= expiresAt) return { ...nothing(), actions: [{ do: "delete" }] };
  if (isFailed(status)) return { ...nothing(), requeueAt: expiresAt };
  const hold = holdOf(observed);
  const held = hold === undefined ? [] : [hold];
  if (stored !== undefined) {
    return { ...nothing(), actions: held, status: readyStatus(observed, stored, now), requeueAt: expiresAt };
  }
  if (isConditionTrue(status?.conditions, "Ready") || wasLost(status)) {
    return { ...nothing(), actions: held, status: lostStatus(observed, now), requeueAt: expiresAt };
  }
  if (metadata.annotations?.[importedAnnotation] !== undefined) return awaitImport(observed, { held, now, expiresAt });
  return capture(observed, { held, now, expiresAt });
}

/** The files of an import are complete when its object is created, and get their name right after that. */
function awaitImport(
  observed: ObservedSnapshot,
  { held, now, expiresAt }: { held: readonly SnapshotAction[]; now: number; expiresAt: number | undefined },
): SnapshotDecision {
  const waitsUntil = (createdAt(observed.snapshot) ?? now) + waitForSourceMs;
  if (now < waitsUntil) return { ...nothing(), actions: held, requeueAt: now + retryMs };
  return { ...nothing(), actions: held, status: lostStatus(observed, now), requeueAt: expiresAt };
}

function capture(
  observed: ObservedSnapshot,
  { held, now, expiresAt }: { held: readonly SnapshotAction[]; now: number; expiresAt: number | undefined },
): SnapshotDecision {
  const { snapshot, problem } = observed;
  // The finalizer first: without it, a deletion in the middle of the capture would leave the files behind.
  if (problem === undefined) return { ...nothing(), actions: [...held, { do: "capture" }] };
  const waitsUntil = (createdAt(snapshot) ?? now) + waitForSourceMs;
  if (problem.isFinal || now >= waitsUntil) {
    return { ...nothing(), actions: held, status: failedStatus(observed, problem, now), requeueAt: expiresAt };
  }
  return { ...nothing(), actions: held, status: pendingStatus(observed, problem, now), requeueAt: now + retryMs };
}

function nothing(): SnapshotDecision {
  return { actions: [], memory: undefined };
}

function leave({ metadata: { finalizers = [] } }: SandboxSnapshot): SnapshotDecision {
  if (!finalizers.includes(snapshotFinalizer)) return nothing();
  const others = finalizers.filter((one) => one !== snapshotFinalizer);
  return { ...nothing(), actions: [{ do: "remove-files" }, { do: "release", finalizers: others }] };
}

/** When the snapshot is deleted, in milliseconds since 1970. */
function expiryOf(snapshot: SandboxSnapshot): number | undefined {
  const { ttlSecondsAfterCreation: seconds } = snapshot.spec;
  const created = createdAt(snapshot);
  return seconds === undefined || created === undefined ? undefined : created + seconds * 1000;
}

function createdAt({ metadata }: SandboxSnapshot): number | undefined {
  const created = parseTime(metadata.creationTimestamp ?? "");
  return "error" in created ? undefined : created.epochMs;
}

/** Undefined if the object already has the finalizer and the owners that its deletion policy asks for. */
function holdOf({ snapshot, stored }: ObservedSnapshot): SnapshotAction | undefined {
  const { finalizers = [], ownerReferences = [] } = snapshot.metadata;
  const owners = ownersOf(snapshot, stored);
  const isHeld = finalizers.includes(snapshotFinalizer);
  if (isHeld && owners.length === ownerReferences.length) return undefined;
  return {
    do: "hold",
    finalizers: isHeld ? finalizers : [...finalizers, snapshotFinalizer],
    ownerReferences: owners,
  };
}

/** With the policy Delete, the Sandbox owns the snapshot, so that both are deleted together. An imported one belongs to no Sandbox. */
function ownersOf(
  { metadata: { ownerReferences = [] }, spec }: SandboxSnapshot,
  stored: StoredSnapshot | undefined,
): readonly OwnerReference[] {
  if (stored === undefined || stored.sandbox.uid === "") return ownerReferences;
  const { name, uid } = stored.sandbox;
  const others = ownerReferences.filter((owner) => owner.uid !== uid);
  if (spec.deletionPolicy === "Retain") return others;
  return [...others, { apiVersion: sandboxes.apiVersion, kind: sandboxes.kind, name, uid }];
}

function wasLost(status: SandboxSnapshotStatus | undefined): boolean {
  return findCondition(status?.conditions, "Ready")?.reason === "ImageMissing";
}
