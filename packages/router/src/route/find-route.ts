import { isKnownHost } from "./known-host.ts";
import { parseHost } from "./parse-host.ts";
import { parsePath } from "./parse-path.ts";
import { parsePodIp } from "./pod-ip.ts";
import { defaultNamespace, defaultPort, isDnsLabel, parsePort, type RouteResult, routeErrors } from "./route.ts";

/** The routing headers of a request. */
export interface RouteHeaders {
  readonly id?: string | undefined;
  readonly namespace?: string | undefined;
  readonly port?: string | undefined;
  readonly podIp?: string | undefined;
  readonly uid?: string | undefined;
}

export interface RouteRequest {
  readonly host: string | undefined;
  readonly target: string;
  readonly headers: RouteHeaders;
}

export interface RouteOptions {
  /** With `localhost`, `<sandbox>.<namespace>.localhost` names a sandbox. In lower case. */
  readonly domains: readonly string[];
  readonly allowLoopbackPodIp: boolean;
  /** The host names of the router itself, in lower case. Undefined: any name. */
  readonly hosts: readonly string[] | undefined;
}

/**
 * Finds out which sandbox a request names: by host name, or else by headers, or else by path. If the host name names a
 * sandbox, the headers cannot name another one. Otherwise a page of one sandbox could reach others by adding a header.
 */
export function findRoute(request: RouteRequest, options: RouteOptions): RouteResult {
  const { host, headers, target } = request;
  const named = host === undefined ? undefined : parseHost(host, options.domains);
  if (named !== undefined) return "error" in named ? named : byHost(named, request);
  if (!isKnownHost(host, options.hosts)) return { error: "Unknown host name." };
  if (headers.id !== undefined) return byHeaders(request, options);
  return parsePath(target);
}

function byHost(named: { namespace: string; name: string; port: number }, request: RouteRequest): RouteResult {
  const { id, namespace, port } = request.headers;
  const differs =
    (id !== undefined && id !== named.name) ||
    (namespace !== undefined && namespace !== named.namespace) ||
    (port !== undefined && port !== String(named.port));
  if (differs) return { error: "The host name and the X-Sandbox-* headers name different targets." };
  return { route: { by: "host", ...named, uid: undefined, podIp: undefined, target: request.target } };
}

/** Existing clients depend on the order of these checks. */
function byHeaders({ headers, target }: RouteRequest, options: RouteOptions): RouteResult {
  const { id = "", port: portText, podIp: podIpText, uid } = headers;
  if (id === "") return { error: routeErrors.missingId };
  if (!isDnsLabel(id)) return { error: routeErrors.id };
  const namespace = headers.namespace === undefined || headers.namespace === "" ? defaultNamespace : headers.namespace;
  if (!isDnsLabel(namespace)) return { error: routeErrors.namespace };
  const port = portText === undefined || portText === "" ? defaultPort : parsePort(portText);
  if (port === undefined) return { error: routeErrors.port };
  const wantsIp = podIpText !== undefined && podIpText !== "";
  const podIp = wantsIp ? parsePodIp(podIpText, { allowLoopback: options.allowLoopbackPodIp }) : undefined;
  if (wantsIp && podIp === undefined) return { error: routeErrors.podIp };
  return { route: { by: "header", namespace, name: id, port, uid: uid === "" ? undefined : uid, podIp, target } };
}
