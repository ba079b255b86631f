import { SandboxError } from "../errors.ts";
import type { ApiAccess } from "../kube/api-server.ts";
import type { RouterAccess } from "../runtime/router.ts";
import { bearer, type ConnectOptions, trimSlash } from "./connect-options.ts";

/** How to reach the API server and the router. */
export interface Servers {
  readonly api: ApiAccess;
  readonly router: RouterAccess;
  readonly namespace: string;
}

/** Servers whose addresses are in the options. Without `server`, only calls that need no API server succeed. */
export function namedServers(options: ConnectOptions, router: string): Servers {
  const { server, token, ca, namespace = "default" } = options;
  const headers = async (): Promise<Record<string, string>> =>
    token === undefined ? {} : { authorization: await bearer(token) };
  const tls = ca === undefined ? {} : { tls: { ca } };
  const api: ApiAccess =
    server === undefined
      ? { server: "", authorize: noServer }
      : { server: trimSlash(server), authorize: async () => ({ headers: await headers(), ...tls }) };
  return { namespace, api, router: { url: trimSlash(router), authorize: headers } };
}

async function noServer(): Promise<never> {
  const message = "Cannot call the API server: connect was called without the option server";
  throw new SandboxError("InvalidArgument", message);
}
