import { isReason, type KubeObject, type ObjectKey, type Preconditions } from "@agent-sandbox/kube";

/** Where an object is. */
export function placeOf({ metadata }: KubeObject): ObjectKey {
  const { name = "", namespace = "" } = metadata ?? {};
  return { name, namespace };
}

/** Holds a write to the very object, at the very version, that was decided on: a newer one deserves a newer decision. */
export function guardOf({ metadata }: KubeObject): Preconditions {
  const { uid = "", resourceVersion = "" } = metadata ?? {};
  return { uid, resourceVersion };
}

/** For `catch`: what is gone already needs no deleting and no status. */
export function goneIsFine(error: unknown): void {
  if (!isReason(error, "NotFound")) throw error;
}
