import {
  epochAnnotation,
  findCondition,
  formatImageReference,
  type ImageReference,
  isConditionTrue,
  restoreAnnotation,
  type Sandbox,
  type SandboxSnapshot,
  type SuspensionStatus,
  suspendDepthAnnotation,
} from "@agent-sandbox/api";
import { type Shortfall, wantsMemory } from "./depth.ts";
import type { Observed } from "./observed.ts";

/** On a Pod that is restored from a snapshot: the name in the Sandbox's `restoreFrom` that asked for it. */
export const restoreFromAnnotation = "agents.x-k8s.io/restore-from";
/** On a Pod that is restored from a Pod snapshot: its name. */
export const restorePodSnapshotAnnotation = "agents.x-k8s.io/restore-pod-snapshot";

/** What the next Pod continues from. */
export type Source =
  | { readonly type: "files" }
  | {
      readonly type: "image";
      readonly image: ImageReference;
      readonly epoch: number;
      readonly because?: SnapshotReason;
    }
  /** A snapshot that cannot be used. There is no Pod until it can: starting without it would be something else. */
  | ({ readonly type: "blocked" } & Shortfall);

/** The annotation that says who asked for a snapshot, and the name of the snapshot. */
export type SnapshotReason = Readonly<Record<string, string>>;

/** A snapshot is restored once for each `restoreFrom`, and a Pod snapshot or saved memory once for each suspension. */
export function sourceOf({ sandbox, snapshot }: Pick<Observed, "sandbox" | "snapshot">): Source {
  const name = unrestoredSnapshot(sandbox);
  const { epoch = 0 } = sandbox.status?.suspension ?? {};
  if (name !== undefined) return snapshotSource(name, snapshot, { epoch, annotation: restoreFromAnnotation });
  if (snapshot !== undefined) {
    // A Pod snapshot, which replaces the image of the suspension.
    const { name: own = "" } = snapshot.metadata;
    return snapshotSource(own, snapshot, { epoch, annotation: restorePodSnapshotAnnotation });
  }
  if (hasSavedMemory(sandbox.status?.suspension)) {
    return { type: "image", image: { type: "suspension", epoch }, epoch: epoch + 1 };
  }
  return { type: "files" };
}

function snapshotSource(
  name: string,
  snapshot: SandboxSnapshot | undefined,
  own: { readonly epoch: number; readonly annotation: string },
): Source {
  const { uid = "", deletionTimestamp } = snapshot?.metadata ?? {};
  if (snapshot === undefined || deletionTimestamp !== undefined) {
    return blocked("SnapshotNotFound", `SandboxSnapshot "${name}" does not exist in this namespace`);
  }
  const { conditions, epoch = 0 } = snapshot.status ?? {};
  if (!isConditionTrue(conditions, "Ready")) {
    const failed = findCondition(conditions, "Failed");
    const detail = failed?.status === "True" ? `: ${failed.message || failed.reason}` : "";
    return blocked("SnapshotNotReady", `SandboxSnapshot "${name}" is not ready${detail}`);
  }
  const next = Math.max(own.epoch, epoch) + 1;
  return { type: "image", image: { type: "snapshot", uid }, epoch: next, because: { [own.annotation]: name } };
}

function blocked(reason: string, message: string): Source {
  return { type: "blocked", reason, message };
}

/** The snapshot that the Sandbox is to be restored from and has not been yet. */
export function unrestoredSnapshot({ spec, status }: Sandbox): string | undefined {
  const name = spec?.restoreFrom?.snapshotRef?.name;
  return name === undefined || name === status?.suspension?.restoredFrom?.name ? undefined : name;
}

/** Whether memory was saved that no Pod has continued yet. */
export function hasSavedMemory(suspension: SuspensionStatus | undefined): boolean {
  return suspension?.depth === "Memory" && suspension.restored === undefined;
}

/** The annotations that tell the state driver what to do with a new Pod. None for a Sandbox that never used saved state. */
export function stateAnnotations(sandbox: Sandbox, source: Source): Record<string, string> {
  const { epoch } = sandbox.status?.suspension ?? {};
  const savesMemory = wantsMemory(sandbox.spec);
  const depth = savesMemory ? { [suspendDepthAnnotation]: "Memory" } : {};
  if (source.type !== "image") {
    const isCounted = savesMemory || epoch !== undefined;
    return { ...depth, ...(isCounted && { [epochAnnotation]: String(epoch ?? 0) }) };
  }
  return {
    ...depth,
    [restoreAnnotation]: formatImageReference(source.image),
    [epochAnnotation]: String(source.epoch),
    ...source.because,
  };
}
