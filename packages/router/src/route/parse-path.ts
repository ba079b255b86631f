import { isDnsLabel, parsePort, type RouteResult, routeErrors } from "./route.ts";

const prefix = "/sandboxes/";

/**
 * Parses `/sandboxes/<namespace>/<sandbox>/<port>/...`. The rest after the port is the request target for the sandbox,
 * neither decoded nor normalised. Percent-encoded names are not accepted.
 */
export function parsePath(target: string): RouteResult {
  if (!target.startsWith(prefix)) return { none: true };
  const match = /^\/sandboxes\/([^/?]*)\/([^/?]*)\/([^/?]*)(.*)$/s.exec(target);
  if (match === null) return { error: "Invalid path: want /sandboxes/<namespace>/<sandbox>/<port>/..." };
  const [, namespace = "", name = "", portText = "", rest = ""] = match;
  if (!isDnsLabel(name)) return { error: routeErrors.id };
  if (!isDnsLabel(namespace)) return { error: routeErrors.namespace };
  const port = parsePort(portText);
  if (port === undefined) return { error: routeErrors.port };
  const own = rest.startsWith("/") ? rest : `/${rest}`;
  return { route: { by: "path", namespace, name, port, uid: undefined, podIp: undefined, target: own } };
}
