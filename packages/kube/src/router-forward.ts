import type { Duplex } from "node:stream";

/**
 * The interface between the API server and the router of the box. A client that forwards a port of the Pod `sandbox-router` gets
 * connections to the router that carry the client's identity.
 */
export interface RouterForward {
  /** Opens a connection to the router, on which requests need no credential. Rejects with a `KubeError`. */
  connect(caller: ForwardCaller): Promise<Duplex>;
}

/** The client of a port-forward, as the API server knows it. */
export interface ForwardCaller {
  /** The network address of the client. */
  readonly address: string;
  /** Authenticates the client again. Undefined when its credential has expired or its account was deleted. */
  user(): ForwardUser | undefined;
}

export interface ForwardUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}
