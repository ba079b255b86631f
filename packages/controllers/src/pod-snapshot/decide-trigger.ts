import {
  controllerReference,
  findCondition,
  formatTime,
  isConditionTrue,
  nameHash,
  originPodAnnotation,
  type PodSnapshot,
  type PodSnapshotManualTriggerStatus,
  podSnapshots,
  type Sandbox,
  type SandboxSnapshot,
  sandboxes,
  sandboxNameHashLabel,
  setCondition,
} from "@agent-sandbox/api";
import { type ObservedTrigger, snapshotName } from "./observe.ts";

export type TriggerAction =
  | { readonly do: "create-view"; readonly view: PodSnapshot }
  | { readonly do: "create-snapshot"; readonly snapshot: SandboxSnapshot };

export interface TriggerDecision {
  readonly actions: readonly TriggerAction[];
  readonly memory: undefined;
  readonly status?: PodSnapshotManualTriggerStatus;
  readonly requeueAt?: number;
}

/** What to do about a trigger: create one PodSnapshot with its SandboxSnapshot, and report what becomes of it. */
export function decideTrigger(observed: ObservedTrigger, _memory: undefined, now: number): TriggerDecision {
  const { trigger, sandbox, view, snapshot } = observed;
  if (trigger.metadata.deletionTimestamp !== undefined || isOver(observed)) return { actions: [], memory: undefined };
  if (snapshot !== undefined) return { actions: [], memory: undefined, status: progress(observed, snapshot, now) };
  if (sandbox === undefined) {
    const message = `Pod "${trigger.spec.targetPod}" does not exist, or is not the Pod of a Sandbox`;
    return { actions: [], memory: undefined, status: failure(observed, message, now) };
  }
  if (view === undefined) {
    // Clients take the PodSnapshot with the latest creation time as the newest, and that time has whole seconds.
    if (observed.takenAt.includes(formatTime(now)))
      return { actions: [], memory: undefined, requeueAt: nextSecond(now) };
    return { actions: [{ do: "create-view", view: viewFor(observed, sandbox) }], memory: undefined };
  }
  return { actions: [{ do: "create-snapshot", snapshot: snapshotFor(sandbox, view) }], memory: undefined };
}

function nextSecond(now: number): number {
  return (Math.floor(now / 1000) + 1) * 1000;
}

function isOver({ trigger: { status } }: ObservedTrigger): boolean {
  const triggered = findCondition(status?.conditions, "Triggered");
  return triggered?.status === "True" || triggered?.status === "False";
}

function progress(observed: ObservedTrigger, { status }: SandboxSnapshot, now: number): PodSnapshotManualTriggerStatus {
  const failed = findCondition(status?.conditions, "Failed");
  if (failed?.status === "True") return failure(observed, `${failed.reason}: ${failed.message}`, now);
  // Clients list ready PodSnapshots as soon as the trigger is complete.
  const isShown = isConditionTrue(observed.view?.status?.conditions, "Ready");
  if (!isShown || !isConditionTrue(status?.conditions, "Ready")) {
    return report(observed, { status: "Unknown", reason: "InProgress", message: "The snapshot is being taken" }, now);
  }
  const complete = { status: "True", reason: "Complete", message: "The snapshot is complete" } as const;
  return { ...report(observed, complete, now), snapshotCreated: { name: snapshotName(observed.trigger) } };
}

function failure(observed: ObservedTrigger, message: string, now: number): PodSnapshotManualTriggerStatus {
  return report(observed, { status: "False", reason: "Failed", message }, now);
}

function report(
  { trigger: { status, metadata } }: ObservedTrigger,
  condition: { readonly status: "True" | "False" | "Unknown"; readonly reason: string; readonly message: string },
  now: number,
): PodSnapshotManualTriggerStatus {
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  return { conditions: setCondition(status?.conditions, { type: "Triggered", ...condition, ...generation }, now) };
}

/** Owned by the Sandbox: a later Sandbox of the same name must not be restored from the state of this one. */
function viewFor({ trigger }: ObservedTrigger, sandbox: Sandbox): PodSnapshot {
  const { namespace = "" } = trigger.metadata;
  const { name: owner = "", uid = "" } = sandbox.metadata;
  const name = snapshotName(trigger);
  return {
    apiVersion: "podsnapshot.gke.io/v1",
    kind: "PodSnapshot",
    metadata: {
      namespace,
      name,
      labels: { [sandboxNameHashLabel]: nameHash(owner) },
      annotations: { [originPodAnnotation]: trigger.spec.targetPod },
      ownerReferences: [{ apiVersion: sandboxes.apiVersion, kind: sandboxes.kind, name: owner, uid }],
    },
    spec: { snapshotRef: { name } },
  };
}

function snapshotFor(sandbox: Sandbox, view: PodSnapshot): SandboxSnapshot {
  const { namespace = "", name = "", labels = {} } = view.metadata;
  return {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: {
      namespace,
      name,
      labels: { [sandboxNameHashLabel]: labels[sandboxNameHashLabel] ?? "" },
      ownerReferences: [controllerReference(podSnapshots, view)],
    },
    // Kept as long as the PodSnapshot, which owns it.
    spec: { sandboxRef: { name: sandbox.metadata.name ?? "" }, depth: "Memory", deletionPolicy: "Retain" },
  };
}
