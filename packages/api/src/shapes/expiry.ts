/** What happens to a Sandbox object when its time is up. Its Pod and Service go either way. */
export const shutdownPolicies = ["Delete", "Retain"] as const;
export type ShutdownPolicy = (typeof shutdownPolicies)[number];

/** What happens to a claim and its Sandbox when its time is up. */
export const claimShutdownPolicies = ["Delete", "DeleteForeground", "Retain"] as const;
export type ClaimShutdownPolicy = (typeof claimShutdownPolicies)[number];
