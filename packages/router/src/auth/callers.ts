import type { AccessReviewer } from "./access-reviewer.ts";
import type { User } from "./caller.ts";
import type { TokenReviewer } from "./token-reviewer.ts";

/** Authenticates and authorizes users for other listeners of the process, with the caches of the router. */
export interface Callers {
  /** Undefined if the token is not valid. Rejects if the API server cannot be reached. */
  userOf(token: string, peer: string): Promise<User | undefined>;
  mayConnect(user: User, namespace: string, name: string): Promise<boolean>;
}

/** Without a reviewer, no token is valid, or every user may connect. */
export function callersOf(tokens: TokenReviewer | undefined, access: AccessReviewer | undefined): Callers {
  return {
    userOf: async (token, peer) => tokens?.userOf(token, peer),
    mayConnect: async (user, namespace, name) => access?.mayConnect(user, namespace, name) ?? true,
  };
}
