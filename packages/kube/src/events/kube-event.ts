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

/** What happened, in the words of a controller. */
export interface Note {
  readonly type: "Normal" | "Warning";
  /** Why, in one CamelCase word. */
  readonly reason: string;
  /** What was done, in one CamelCase word. */
  readonly action: string;
  /** For people. Cut at 1024 bytes, the most a server takes. */
  readonly text: string;
  /** The part of the object it is about, such as `spec.containers{main}`. Parts have series of their own. */
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

/** Cuts between characters, not within one. */
export function cutToBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
