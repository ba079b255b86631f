import type { ObjectReference } from "@agent-sandbox/api";
import type { KubeObject, Resource } from "../resource.ts";

/** An `events.k8s.io/v1` Event. */
export interface KubeEvent extends KubeObject {
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly action: string;
  readonly reason: string;
  readonly type: "Normal" | "Warning";
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  readonly note: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

export const kubeEvents: Resource<KubeEvent> = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
};

/** An event that a controller records. */
export interface EventRecord {
  readonly type: "Normal" | "Warning";
  /** Why it happened, in CamelCase. */
  readonly reason: string;
  /** What the controller did, in CamelCase. */
  readonly action: string;
  /** A description for people. Truncated to 1024 bytes, the server's limit. */
  readonly text: string;
  /** The part of the object it is about, such as `spec.containers{main}`. Each part has its own series. */
  readonly fieldPath?: string;
}

export function referenceTo(resource: Resource, { metadata = {} }: KubeObject): ObjectReference {
  const { name = "", namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** Truncates at a character boundary. */
export function cutToBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
