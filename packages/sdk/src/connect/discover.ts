import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClusterAccess, loadDefault } from "@agent-sandbox/kube/kubeconfig";
import { SandboxError } from "../errors.ts";
import { bearer, type ConnectOptions, trimSlash } from "./connect-options.ts";
import { namedServers, type Servers } from "./named-servers.ts";

const defaultDataDir = "/var/lib/agent-sandbox";

/** Finds the API server and the router: from the options, else the running box, else the kubeconfig or the Pod's service account. */
export async function discover(options: ConnectOptions): Promise<Servers> {
  const environment = process.env;
  const isNamed = options.kubeconfig !== undefined || options.context !== undefined || options.server !== undefined;
  const box = isNamed
    ? undefined
    : await findBox(options.dataDir ?? environment["AGENT_SANDBOX_DATA_DIR"] ?? defaultDataDir);
  const router = options.router ?? environment["AGENT_SANDBOX_ROUTER_URL"] ?? box?.routerUrl;
  if (router === undefined) {
    const hint = 'start a box with "agent-sandbox up", or set the option router or AGENT_SANDBOX_ROUTER_URL';
    throw new SandboxError("Unreachable", `Cannot find a router: no box is running here; ${hint}`);
  }
  if (options.server !== undefined) return namedServers(options, router);
  const path = options.kubeconfig ?? box?.kubeconfig;
  const { access, error } = await loadDefault({
    ...(path !== undefined && { path }),
    ...(options.context !== undefined && { context: options.context }),
  });
  if (error !== undefined) throw new SandboxError("Unreachable", error);
  return loadedServers(options, access, router);
}

/** The servers of a kubeconfig. */
export function loadedServers(
  { token, namespace }: Pick<ConnectOptions, "token" | "namespace">,
  access: ClusterAccess,
  router: string,
): Servers {
  const { credentials, tls, headers = {} } = access;
  const credential = async (isRefused: boolean): ReturnType<typeof credentials.get> => {
    if (token !== undefined) return { authorization: await bearer(token) };
    const current = await credentials.get();
    return isRefused ? credentials.renew(current) : current;
  };
  const extra = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]));
  return {
    namespace: namespace ?? access.namespace,
    api: {
      server: access.server,
      authorize: async (isRefused) => {
        const { authorization, certificate } = await credential(isRefused);
        return {
          headers: { ...extra, ...(authorization !== undefined && { authorization }) },
          tls: { ...tls, ...certificate },
        };
      },
    },
    router: {
      url: trimSlash(router),
      authorize: async (isRefused) => {
        const { authorization } = await credential(isRefused);
        if (authorization !== undefined) return { authorization };
        const hint = "pass the option token";
        throw new SandboxError(
          "Unauthenticated",
          `Cannot authenticate to the router: the kubeconfig has no token; ${hint}`,
        );
      },
    },
  };
}

interface Box {
  readonly kubeconfig: string;
  readonly routerUrl: string;
}

/** The box that runs on this machine, if this user may use it. */
async function findBox(dataDir: string): Promise<Box | undefined> {
  try {
    const { routerUrl } = JSON.parse(await readFile(join(dataDir, "box.json"), "utf8")) as { routerUrl?: unknown };
    return typeof routerUrl === "string" ? { kubeconfig: join(dataDir, "kubeconfig"), routerUrl } : undefined;
  } catch {
    return undefined;
  }
}
