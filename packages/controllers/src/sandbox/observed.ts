import {
  isControlledBy,
  isPoolMember,
  type PersistentVolumeClaim,
  type Pod,
  type Sandbox,
  type SandboxSnapshot,
  type Service,
} from "@agent-sandbox/api";
import type { Step } from "./action.ts";
import type { Settings } from "./settings.ts";
import type { Watched } from "./watched.ts";

/** An action that failed. */
export interface Failure {
  readonly step: Step;
  readonly message: string;
  /** Whether the same request may succeed a moment later. */
  readonly isPassing: boolean;
  /** Whether the API server refuses the object whenever it is sent. */
  readonly isInvalid: boolean;
}

/** What a decision is based on: plain data from caches. */
export interface Observed {
  readonly sandbox: Sandbox;
  /** All Pods that this Sandbox controls. */
  readonly pods: readonly Pod[];
  /** The Pod with the tracked name, whoever owns it. */
  readonly trackedPod: Pod | undefined;
  /** The volume claims of the templates, by name, whoever owns them. */
  readonly volumeClaims: ReadonlyMap<string, PersistentVolumeClaim>;
  /** The Service with the Sandbox's name, whoever owns it. */
  readonly service: Service | undefined;
  /** Other Sandboxes of the namespace whose names have the same hash. */
  readonly twins?: readonly Sandbox[];
  /** The snapshot that the Sandbox is still to be restored from, or the Pod snapshot that it resumes from. */
  readonly snapshot?: SandboxSnapshot | undefined;
  readonly watched: Watched;
  /** Actions of this pass that failed. */
  readonly failures: readonly Failure[];
}

/** What `observe` returns: how long states have held is added by the decision, from its memory. */
export interface Snapshot extends Omit<Observed, "watched"> {
  readonly settings: Settings;
  /** When this was observed, by a clock that never jumps. */
  readonly uptimeMs: number;
  /** How far this machine's clock is ahead of the API server's. */
  readonly clockAheadMs: number;
}

/** Which Pod is the Sandbox's. Ownership takes precedence over the tracked name, which may be out of date. */
export type FoundPod =
  | { readonly type: "none" }
  | { readonly type: "owned"; readonly pod: Pod }
  /** A Pod with the tracked name that the Sandbox does not control. */
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
