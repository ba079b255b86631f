import { isIP } from "node:net";
import { hostname } from "node:os";

/**
 * Whether a request is for this machine. A page of another site that resolves its own name to this address (DNS rebinding) sends that
 * name in `Host`. An IP address cannot be resolved to another one.
 */
export function isOwnHost(host: string | undefined, ownName: string = hostname()): boolean {
  const [, name = ""] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(host ?? "") ?? [];
  const lower = name.toLowerCase();
  return lower === "localhost" || lower === ownName.toLowerCase() || isIP(lower.replace(/^\[|\]$/g, "")) !== 0;
}
