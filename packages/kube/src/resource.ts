import type { ObjectMeta } from "@agent-sandbox/api";

/** Any object of the Kubernetes API. Objects from a cache are shared: build a new one instead of modifying it. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** One kind in one version: what a client needs to build URLs. `T` is the type of the objects. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries `T`; never set. */
  readonly shape?: T;
}

export interface ObjectKey {
  readonly name: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
}

/** `namespace/name`, or `name` when cluster-scoped: the key of caches and queues. */
export function keyOf(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name;
}

export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function objectKey(object: KubeObject): string {
  const { name = "", namespace } = object.metadata ?? {};
  return namespace ? `${namespace}/${name}` : name;
}
