import {
  isPodOfSandbox,
  type Pod,
  type PodSnapshot,
  type PodSnapshotManualTrigger,
  podSnapshots,
  podSnapshotTriggers,
  type Sandbox,
  type SandboxSnapshot,
  sandboxes,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import { controllerOf, type Index, type Informer, type Informers, isControlledBy, keyOf } from "@agent-sandbox/kube";
import { podCache } from "../child-caches.ts";

export interface Caches {
  readonly triggers: Informer<PodSnapshotManualTrigger>;
  readonly views: Informer<PodSnapshot>;
  readonly snapshots: Informer<SandboxSnapshot>;
  readonly pods: Informer<Pod>;
  readonly sandboxes: Informer<Sandbox>;
  readonly viewsByOwner: Index<PodSnapshot>;
}

export function openCaches(informers: Informers): Caches {
  const views = informers.get(podSnapshots);
  return {
    triggers: informers.get(podSnapshotTriggers),
    views,
    viewsByOwner: views.index("owner", ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid)),
    snapshots: informers.get(sandboxSnapshots),
    pods: podCache(informers),
    sandboxes: informers.get(sandboxes),
  };
}

/** A trigger, and what was made for it. */
export interface ObservedTrigger {
  readonly trigger: PodSnapshotManualTrigger;
  /** The Sandbox that runs in the target Pod. */
  readonly sandbox: Sandbox | undefined;
  readonly view: PodSnapshot | undefined;
  readonly snapshot: SandboxSnapshot | undefined;
  /** When the other PodSnapshots of the Sandbox were created. */
  readonly takenAt: readonly string[];
}

export function observeTrigger(key: string, caches: Caches): ObservedTrigger | undefined {
  const trigger = caches.triggers.get(key);
  if (trigger === undefined) return undefined;
  const { namespace = "" } = trigger.metadata;
  const place = keyOf({ namespace, name: snapshotName(trigger) });
  const view = caches.views.get(place);
  const sandbox = sandboxIn(keyOf({ namespace, name: trigger.spec.targetPod }), caches);
  const others = caches.viewsByOwner.get(sandbox?.metadata.uid ?? "").filter((other) => other !== view);
  return {
    trigger,
    sandbox,
    view,
    snapshot: snapshotOf(view, caches),
    takenAt: others.flatMap(({ metadata }) => metadata.creationTimestamp ?? []),
  };
}

/** A UID, so that a trigger that is created again gives another snapshot. */
export function snapshotName({ metadata }: PodSnapshotManualTrigger): string {
  return metadata.uid ?? "";
}

/** The SandboxSnapshot of a PodSnapshot. Both have the same name, and anybody may have created another object of that name. */
export function snapshotOf(view: PodSnapshot | undefined, { snapshots }: Caches): SandboxSnapshot | undefined {
  if (view === undefined) return undefined;
  const { namespace = "", name = "" } = view.metadata;
  const found = snapshots.get(keyOf({ namespace, name }));
  return found !== undefined && isControlledBy(found, view) ? found : undefined;
}

function sandboxIn(podKey: string, caches: Caches): Sandbox | undefined {
  const pod = caches.pods.get(podKey);
  const owner = pod && controllerOf(pod);
  if (pod === undefined || owner === undefined) return undefined;
  const sandbox = caches.sandboxes.get(keyOf({ namespace: pod.metadata?.namespace ?? "", name: owner.name }));
  return sandbox !== undefined && isPodOfSandbox(sandbox, pod) ? sandbox : undefined;
}
