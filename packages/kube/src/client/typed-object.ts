import type { KubeObject, Resource } from "../resource.ts";

/** Adds `apiVersion` and `kind` if they are missing: servers require them, and omit them in list items. */
export function withType<T extends KubeObject>({ apiVersion, kind }: Resource<T>, object: T): T {
  return object.kind === undefined || object.apiVersion === undefined ? { ...object, apiVersion, kind } : object;
}
