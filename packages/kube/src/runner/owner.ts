import type { OwnerReference } from "@agent-sandbox/api";
import { type KubeObject, keyOf, type Resource } from "../resource.ts";

/** The one owner that manages the object, if any. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  const uid = owner.metadata?.uid;
  return uid !== undefined && controllerOf(object)?.uid === uid;
}

/** The key of the object's controller when that is of this kind, at whatever version it was recorded. */
export function controllerKey(object: KubeObject, owner: Resource): string | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== owner.kind || groupOf(reference.apiVersion) !== groupOf(owner.apiVersion)) return undefined;
  const { namespace } = object.metadata ?? {};
  return owner.namespaced && namespace ? keyOf({ namespace, name: reference.name }) : reference.name;
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
