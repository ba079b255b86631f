import {
  controllerOf,
  findCondition,
  groupOf,
  isConditionTrue,
  podSnapshotNameAnnotation,
  podSnapshots,
  refersToKind,
  type Sandbox,
  type SandboxSnapshot,
} from "@agent-sandbox/api";

const podSnapshotKind = { group: groupOf(podSnapshots.apiVersion), kind: podSnapshots.kind };

/**
 * The Pod snapshot that a suspended Sandbox resumes from: the one that the annotation of its Pod template names, else the newest
 * that was taken since the Sandbox was last restored. A Pod that was lost is not replaced by one from a snapshot, because what
 * the Sandbox has written since would be lost. The same holds for a Sandbox that was suspended because it was idle: nobody asked
 * for an earlier state. `snapshots` are those of this Sandbox.
 */
export function podSnapshotFor(
  { spec, status }: Sandbox,
  snapshots: readonly SandboxSnapshot[],
): SandboxSnapshot | undefined {
  const suspended = findCondition(status?.conditions, "Suspended");
  if (suspended?.status !== "True") return undefined;
  const usable = snapshots.filter(isUsable);
  const named = spec?.podTemplate?.metadata?.annotations?.[podSnapshotNameAnnotation];
  if (named !== undefined) return usable.find(({ metadata }) => metadata.name === named);
  if (suspended.reason === "Idle") return undefined;
  // Epochs never go back, but clocks do.
  const epoch = status?.suspension?.epoch ?? 0;
  const recent = usable.filter((snapshot) => (snapshot.status?.epoch ?? 0) >= epoch);
  return recent.toSorted((a, b) => createdAt(b).localeCompare(createdAt(a)))[0];
}

/** Whether it is shown as a PodSnapshot, and complete. */
function isUsable(snapshot: SandboxSnapshot): boolean {
  const owner = controllerOf(snapshot);
  const { metadata, status } = snapshot;
  return (
    owner !== undefined &&
    refersToKind(owner, podSnapshotKind) &&
    metadata.deletionTimestamp === undefined &&
    status?.depth === "Memory" &&
    isConditionTrue(status.conditions, "Ready")
  );
}

/** RFC 3339 in UTC, so that the order of the texts is that of the times. */
function createdAt({ metadata, status }: SandboxSnapshot): string {
  return `${status?.createdAt ?? ""} ${metadata.creationTimestamp ?? ""}`;
}
