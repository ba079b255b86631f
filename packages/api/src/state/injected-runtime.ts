/**
 * How a Pod shows that sandboxd is the first process of its first container. The controller writes it; a node uses it to call
 * sandboxd.
 */

/** The volume with the token of sandboxd, from a Secret of the Pod's namespace. */
export const runtimeTokenVolume = "agent-sandbox-token";
/** The key of the token in the Secret. */
export const runtimeTokenKey = "token";
/** The variables that tell sandboxd which Sandbox it belongs to. In a fork it reads the identity from the environment file. */
export const runtimeIdentity = {
  name: "SANDBOXD_SANDBOX_NAME",
  namespace: "SANDBOXD_SANDBOX_NAMESPACE",
  uid: "SANDBOXD_SANDBOX_UID",
} as const;
/** The port of the REST API of sandboxd. */
export const runtimeRestPort = 8080;
