import { isIP } from "node:net";

/**
 * Whether a request that came under this host name may be meant for the router. A page whose name was made to point at
 * the router's address is of one origin with it; on an open router that page could reach every sandbox. An address
 * cannot be made to point elsewhere. Any name will do when no names are given.
 */
export function isKnownHost(host: string | undefined, names: readonly string[] | undefined): boolean {
  if (names === undefined || host === undefined) return true;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || names.includes(name);
}
