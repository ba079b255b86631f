import { isIP } from "node:net";

/**
 * Protects routers without authentication from DNS rebinding: a web page whose host name is made to resolve to the
 * router's address could otherwise reach every sandbox. IP addresses are always accepted, since they cannot be rebound.
 * Without `names`, every host name is accepted.
 */
export function isKnownHost(host: string | undefined, names: readonly string[] | undefined): boolean {
  if (names === undefined || host === undefined) return true;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || names.includes(name);
}
