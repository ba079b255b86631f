import type { KubeObject, Resource } from "../resource.ts";

/** The object with the type of its resource where it lacks one: servers want it, and leave it out of list items. */
export function withType<T extends KubeObject>({ apiVersion, kind }: Resource<T>, object: T): T {
  return object.kind === undefined || object.apiVersion === undefined ? { ...object, apiVersion, kind } : object;
}
