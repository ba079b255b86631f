/** What happens to a Sandbox object when it expires. Its Pod and Service are deleted in both cases. */
export const shutdownPolicies = ["Delete", "Retain"] as const;
export type ShutdownPolicy = (typeof shutdownPolicies)[number];

/** What happens to a claim and its Sandbox when the claim expires. */
export const claimShutdownPolicies = ["Delete", "DeleteForeground", "Retain"] as const;
export type ClaimShutdownPolicy = (typeof claimShutdownPolicies)[number];
