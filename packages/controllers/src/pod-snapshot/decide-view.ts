import {
  findCondition,
  type PodSnapshot,
  type PodSnapshotStatus,
  type SandboxSnapshot,
  setCondition,
} from "@agent-sandbox/api";

/** A PodSnapshot and its SandboxSnapshot. */
export interface ObservedView {
  readonly view: PodSnapshot;
  readonly snapshot: SandboxSnapshot | undefined;
}

export type ViewAction = { readonly do: "delete-view" };

export interface ViewDecision {
  readonly actions: readonly ViewAction[];
  readonly memory: undefined;
  readonly status?: PodSnapshotStatus;
}

/** A PodSnapshot reports whether its SandboxSnapshot is ready, and is deleted after it. */
export function decideView({ view, snapshot }: ObservedView, _memory: undefined, now: number): ViewDecision {
  if (view.metadata.deletionTimestamp !== undefined) return { actions: [], memory: undefined };
  const before = findCondition(view.status?.conditions, "Ready");
  if (snapshot === undefined) {
    // Before the first report, the SandboxSnapshot may be still to be created.
    return { actions: before === undefined ? [] : [{ do: "delete-view" }], memory: undefined };
  }
  const ready = findCondition(snapshot.status?.conditions, "Ready");
  const { status = "False", reason = "InProgress", message = "" } = ready ?? {};
  const conditions = setCondition(view.status?.conditions, { type: "Ready", status, reason, message }, now);
  return { actions: [], memory: undefined, status: { conditions } };
}
