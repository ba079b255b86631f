import type { KubeObject } from "@agent-sandbox/kube";

/** Kubernetes' finalizers that keep a claim or a volume while it is in use. The API server adds them on creation. */
export const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";

/** The change to a finalizer: it is missing, or the object is being deleted. */
export type Protection = "add" | "remove" | "none";

export function protectionOf({ metadata }: KubeObject, finalizer: string): Protection {
  const has = metadata?.finalizers?.includes(finalizer) ?? false;
  if (metadata?.deletionTimestamp !== undefined) return has ? "remove" : "none";
  return has ? "none" : "add";
}

/** The patch that adds or removes a finalizer, with the observed version as a precondition. */
export function protectionPatch(
  { metadata }: KubeObject,
  finalizer: string,
  change: "add" | "remove",
): { type: "merge"; body: object; preconditions: { uid: string; resourceVersion: string } } {
  const { finalizers = [], uid = "", resourceVersion = "" } = metadata ?? {};
  const others = finalizers.filter((one) => one !== finalizer);
  const body = { metadata: { finalizers: change === "add" ? [...others, finalizer] : others } };
  return { type: "merge", body, preconditions: { uid, resourceVersion } };
}
