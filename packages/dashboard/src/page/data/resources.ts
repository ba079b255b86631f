/**
 * The resources that the page shows, and their paths. `sandboxes` and its siblings have the types of `@agent-sandbox/api`. A scope is
 * a namespace, or `undefined` for all namespaces and for resources without one.
 */
import type { CoreEvent, Namespace, Node, ObjectMeta, PersistentVolumeClaim, Pod } from "@agent-sandbox/api";
import { sandboxClaims, sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";

export { sandboxClaims, sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools };

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

export interface Resource<T> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries the type; never set. */
  readonly shape?: T;
}

/** Of metrics.k8s.io. */
export interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

export interface NodeMetrics extends KubeObject {
  readonly timestamp: string;
  readonly usage: Usage;
}

export interface PodMetrics extends KubeObject {
  readonly timestamp: string;
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

function core<T>(kind: string, plural: string, namespaced = true): Resource<T> {
  return { apiVersion: "v1", kind, plural, namespaced };
}

export const pods: Resource<Pod> = core("Pod", "pods");
export const events: Resource<CoreEvent> = core("Event", "events");
export const volumeClaims: Resource<PersistentVolumeClaim> = core("PersistentVolumeClaim", "persistentvolumeclaims");
export const namespaces: Resource<Namespace> = core("Namespace", "namespaces", false);
export const nodes: Resource<Node> = core("Node", "nodes", false);

const metrics = "metrics.k8s.io/v1beta1";
export const nodeMetrics: Resource<NodeMetrics> = {
  apiVersion: metrics,
  kind: "NodeMetrics",
  plural: "nodes",
  namespaced: false,
};
export const podMetrics: Resource<PodMetrics> = {
  apiVersion: metrics,
  kind: "PodMetrics",
  plural: "pods",
  namespaced: true,
};

export function groupOf({ apiVersion }: Pick<Resource<unknown>, "apiVersion">): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** The path of the Kubernetes API: of a list, of an object (`name`), or of a part of it (`subresource`). */
export function pathOf(
  { apiVersion, plural, namespaced }: Resource<unknown>,
  place: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string } = {},
): string {
  const { namespace, name, subresource } = place;
  const parts = [apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`];
  if (namespaced && namespace !== undefined) parts.push("namespaces", encodeURIComponent(namespace));
  parts.push(plural);
  if (name !== undefined) parts.push(encodeURIComponent(name));
  if (subresource !== undefined) parts.push(encodeURIComponent(subresource));
  return parts.join("/");
}

/** Identifies an object within one resource. */
export function keyOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}
