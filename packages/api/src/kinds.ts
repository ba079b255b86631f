import type { PodSnapshot, PodSnapshotManualTrigger, SandboxSnapshot } from "./snapshots/index.ts";
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from "./v1beta1/index.ts";

export const coreGroup = "agents.x-k8s.io";
export const extensionsGroup = "extensions.agents.x-k8s.io";
export const snapshotsGroup = "snapshots.agents.x-k8s.io";
export const podSnapshotsGroup = "podsnapshot.gke.io";

/** The prefix of the name of the pool that represents a template if a v1alpha1 claim names no pool. */
export const shadowPoolPrefix = "shadow-pool-";

/** What a client needs to address one kind; `shape` carries the object type and is never set. */
export interface KindResource<T> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: true;
  readonly shape?: T;
}

export const sandboxes: KindResource<Sandbox> = stored(coreGroup, "Sandbox", "sandboxes");
export const sandboxTemplates: KindResource<SandboxTemplate> = stored(
  extensionsGroup,
  "SandboxTemplate",
  "sandboxtemplates",
);
export const sandboxClaims: KindResource<SandboxClaim> = stored(extensionsGroup, "SandboxClaim", "sandboxclaims");
export const sandboxWarmPools: KindResource<SandboxWarmPool> = stored(
  extensionsGroup,
  "SandboxWarmPool",
  "sandboxwarmpools",
);
export const sandboxSnapshots: KindResource<SandboxSnapshot> = {
  apiVersion: `${snapshotsGroup}/v1alpha1`,
  kind: "SandboxSnapshot",
  plural: "sandboxsnapshots",
  namespaced: true,
};
export const podSnapshots: KindResource<PodSnapshot> = {
  apiVersion: `${podSnapshotsGroup}/v1`,
  kind: "PodSnapshot",
  plural: "podsnapshots",
  namespaced: true,
};
export const podSnapshotTriggers: KindResource<PodSnapshotManualTrigger> = {
  apiVersion: `${podSnapshotsGroup}/v1`,
  kind: "PodSnapshotManualTrigger",
  plural: "podsnapshotmanualtriggers",
  namespaced: true,
};

function stored<T>(group: string, kind: string, plural: string): KindResource<T> {
  return { apiVersion: `${group}/v1beta1`, kind, plural, namespaced: true };
}
