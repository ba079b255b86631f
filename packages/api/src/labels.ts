/** The name hash of a Sandbox, on its Pod, Service and PersistentVolumeClaims: what selects them. */
export const sandboxNameHashLabel = "agents.x-k8s.io/sandbox-name-hash";
/** `"true"` on a Pod, Service or PersistentVolumeClaim made elsewhere: a Sandbox of that name may adopt it. */
export const adoptableLabel = "agents.x-k8s.io/adoptable";
/** The name hash of the pool, on its members and their Pods until they are claimed. */
export const warmPoolSandboxLabel = "agents.x-k8s.io/warm-pool-sandbox";
/** The name hash of the template a Sandbox was made from: what its NetworkPolicy selects. */
export const sandboxTemplateRefHashLabel = "agents.x-k8s.io/sandbox-template-ref-hash";
/** The hash of the blueprint a pool member was made from: tells a stale member. */
export const sandboxTemplateHashLabel = "agents.x-k8s.io/sandbox-template-hash";
/** The hash of the pod template alone, for readers outside; deprecated, nothing here reads it. */
export const sandboxPodTemplateHashLabel = "agents.x-k8s.io/sandbox-pod-template-hash";
/** Whether a Sandbox came from a pool or was made on demand: `warm` or `cold`. */
export const launchTypeLabel = "agents.x-k8s.io/launch-type";
/** Which client made a claim; bounded by `normaliseCreatedBy` wherever it leaves the object. */
export const createdByLabel = "agents.x-k8s.io/created-by";
/** The UID of the claim that holds a Sandbox. Never on a Pod. */
export const claimUidLabel = "agents.x-k8s.io/claim-uid";
/** The Sandbox of a claim, as older controllers noted it; now an annotation of the same key. */
export const legacySandboxNameLabel = "agents.x-k8s.io/sandbox-name";

/** The values of `launchTypeLabel`. */
export const launchTypes = ["warm", "cold"] as const;
export type LaunchType = (typeof launchTypes)[number];

const reservedPrefixes = ["agents.x-k8s.io/", "extensions.agents.x-k8s.io/"];

/** Whether a label or annotation key belongs to the system: in a pod template it is skipped, never copied to a Pod. */
export function isReservedKey(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix));
}
