/** The name hash of a Sandbox. Set on its Pod, Service and PersistentVolumeClaims, which are selected by it. */
export const sandboxNameHashLabel = "agents.x-k8s.io/sandbox-name-hash";
/** `"true"` on a Pod, Service or PersistentVolumeClaim that a user created: a Sandbox of that name may adopt it. */
export const adoptableLabel = "agents.x-k8s.io/adoptable";
/** The name hash of a pool. Set on its members and their Pods until they are claimed. */
export const warmPoolSandboxLabel = "agents.x-k8s.io/warm-pool-sandbox";
/** The name hash of the template that a Sandbox was created from. The NetworkPolicy of the template selects by it. */
export const sandboxTemplateRefHashLabel = "agents.x-k8s.io/sandbox-template-ref-hash";
/** The hash of the blueprint that a pool member was created from. A member with another hash is stale. */
export const sandboxTemplateHashLabel = "agents.x-k8s.io/sandbox-template-hash";
/** The hash of the pod template alone. Deprecated: written for external readers, not read here. */
export const sandboxPodTemplateHashLabel = "agents.x-k8s.io/sandbox-pod-template-hash";
/** Whether a Sandbox was taken from a pool (`warm`) or created on demand (`cold`). */
export const launchTypeLabel = "agents.x-k8s.io/launch-type";
/** Which client created a claim. Pass the value through `normaliseCreatedBy` before it is used anywhere else. */
export const createdByLabel = "agents.x-k8s.io/created-by";
/** The UID of the claim that holds a Sandbox. Never set on a Pod. */
export const claimUidLabel = "agents.x-k8s.io/claim-uid";
/** The name of a claim's Sandbox, as older controllers recorded it. Today it is an annotation with the same key. */
export const legacySandboxNameLabel = "agents.x-k8s.io/sandbox-name";

/** The values of `launchTypeLabel`. */
export const launchTypes = ["warm", "cold"] as const;
export type LaunchType = (typeof launchTypes)[number];

const reservedPrefixes = ["agents.x-k8s.io/", "extensions.agents.x-k8s.io/"];

/** Whether a label or annotation key is reserved for the system and therefore not copied from a pod template to a Pod. */
export function isReservedKey(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix));
}
