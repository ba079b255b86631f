import {
  isControlledBy,
  isPoolMember,
  type PersistentVolumeClaim,
  type Pod,
  type Sandbox,
  type Service,
} from "@agent-sandbox/api";
import type { Step } from "./action.ts";
import type { Watched } from "./watched.ts";

/** What went wrong when a decided action was carried out. */
export interface Failure {
  readonly step: Step;
  readonly message: string;
  /** The same call may well succeed a moment later. */
  readonly isPassing: boolean;
}

/** What the controller knows when it looks at one Sandbox: plain data, no clients, no clock. */
export interface Observed {
  readonly sandbox: Sandbox;
  /** All Pods that this Sandbox controls. */
  readonly pods: readonly Pod[];
  /** The Pod under the tracked name, whoever owns it. */
  readonly trackedPod: Pod | undefined;
  /** The claims of the volume claim templates, by name, whoever owns them. */
  readonly volumeClaims: ReadonlyMap<string, PersistentVolumeClaim>;
  /** The Service of the Sandbox's name, whoever owns it. */
  readonly service: Service | undefined;
  /** Other Sandboxes of the namespace whose names come to the same hash. */
  readonly twins?: readonly Sandbox[];
  readonly watched: Watched;
  readonly failures: readonly Failure[];
}

/** Which Pod is the Sandbox's. Ownership beats the note of a name: a stale note must not cause a second adoption. */
export type FoundPod =
  | { readonly type: "none" }
  | { readonly type: "owned"; readonly pod: Pod }
  /** Someone else's, or nobody's, under the tracked name. */
  | { readonly type: "other"; readonly pod: Pod }
  | { readonly type: "several"; readonly pods: readonly Pod[] };

export function findPod({ pods, trackedPod }: Pick<Observed, "pods" | "trackedPod">): FoundPod {
  const [first, second] = pods;
  if (second !== undefined) return { type: "several", pods };
  if (first !== undefined) return { type: "owned", pod: first };
  return trackedPod === undefined ? { type: "none" } : { type: "other", pod: trackedPod };
}

export function owns(sandbox: Sandbox, child: Pick<Pod | Service | PersistentVolumeClaim, "metadata">): boolean {
  return isControlledBy(child, sandbox.metadata.uid);
}

/** Whether it is an unclaimed pool member whose status has not been written yet. */
export function isUnreportedMember(sandbox: Sandbox): boolean {
  return sandbox.status?.conditions === undefined && isPoolMember(sandbox);
}

export function isTerminating({ metadata }: Pod | Service): boolean {
  return metadata?.deletionTimestamp !== undefined;
}
