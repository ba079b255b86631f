import type { ForwardCaller, ForwardUser } from "@agent-sandbox/kube";
import type { Identity } from "../auth/identity.ts";

/** The client of a port-forward to the router. `identify` throws when the client may no longer use it. */
export function forwardCaller(address: string | undefined, identify: () => Identity): ForwardCaller {
  return {
    address: address ?? "unknown",
    user: () => {
      try {
        return userOf(identify());
      } catch {
        return undefined;
      }
    },
  };
}

const userOf = ({ user, uid, groups, extra }: Identity): ForwardUser => ({
  username: user,
  groups,
  ...(uid === undefined ? {} : { uid }),
  ...(extra === undefined ? {} : { extra }),
});
