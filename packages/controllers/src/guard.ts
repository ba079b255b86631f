import { isReason, type KubeObject, type ObjectKey, type Preconditions } from "@agent-sandbox/kube";

export function placeOf({ metadata }: KubeObject): ObjectKey {
  const { name = "", namespace = "" } = metadata ?? {};
  return { name, namespace };
}

/** Restricts a write to the object and version that the decision was made on. */
export function guardOf({ metadata }: KubeObject): Preconditions {
  const { uid = "", resourceVersion = "" } = metadata ?? {};
  return { uid, resourceVersion };
}

/** For `catch`: an object that is gone needs no deletion and no status. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isReason(error, "NotFound")) throw error;
  return undefined;
}
