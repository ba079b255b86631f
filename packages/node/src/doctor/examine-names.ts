import { lookup } from "node:dns/promises";
import type { Finding } from "./examine.ts";

/** Resolves a name with the C library, as most programs do. */
export type ResolveHere = (name: string) => Promise<{ readonly address: string }>;

/** Checks whether programs of this machine resolve the host names of sandboxes. curl and browsers do so by themselves. */
export async function examineNames(resolve: ResolveHere = lookup): Promise<Finding> {
  const name = "sandbox host names";
  const found = await resolve("sandbox.default.localhost").catch(() => undefined);
  if (found !== undefined && /^(127\.|::1$)/.test(found.address)) {
    return { name, state: "ok", detail: "<sandbox>.<namespace>.localhost resolves to this machine" };
  }
  return {
    name,
    state: "lacking",
    detail: "<sandbox>.<namespace>.localhost works in curl and browsers only, not in Python, Node or wget",
    remedy:
      'use http://ROUTER/sandboxes/<namespace>/<sandbox>/<port>/, which works everywhere ("agent-sandbox status" prints the address of the router), or install libnss-myhostname',
  };
}
