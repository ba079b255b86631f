import { findRoute, type RouteOptions } from "../route/find-route.ts";
import { splitAuthority, splitTarget } from "../route/request-target.ts";
import { parsePort, type Route, routeErrors } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import { type AccessRecord, clip, requestIdOf } from "../telemetry/access-record.ts";
import type { ClientRequest } from "./client-request.ts";
import { type RequestHead, readHead } from "./request-head.ts";

export interface ParsedRequest {
  readonly head: RequestHead;
  readonly host: string | undefined;
  readonly target: string;
  /** Undefined when the request names no sandbox. */
  readonly route: Route | undefined;
  /** `Proxy-Authorization`, if the client uses the router as a proxy: with CONNECT or an absolute request target. */
  readonly proxyAuthorization: string | undefined;
}

/** Reads the headers and finds out which sandbox the request names. Throws `InvalidRequest`. */
export function parseRequest(client: ClientRequest, record: AccessRecord, routes: RouteOptions): ParsedRequest {
  const head = parseHead(client, record);
  const isTunnel = client.upgrade !== undefined && client.upgrade.protocol === undefined;
  return isTunnel ? parseConnect(client, head, routes) : parseHttp(client, head, routes);
}

function parseHead({ rawHeaders }: ClientRequest, record: AccessRecord): RequestHead {
  const head = readHead(rawHeaders);
  record.requestId = requestIdOf("error" in head ? undefined : head.requestId);
  if ("error" in head) throw new RouterError("InvalidRequest", head.error);
  record.userAgent = head.userAgent === undefined ? undefined : clip(head.userAgent);
  return head;
}

function parseHttp({ url, needsHost }: ClientRequest, head: RequestHead, routes: RouteOptions): ParsedRequest {
  const split = splitTarget(url);
  if (split === undefined) throw new RouterError("InvalidRequest", "Invalid request target.");
  const { target, authority } = split;
  const host = authority ?? head.host;
  if (needsHost && head.host === undefined) throw new RouterError("InvalidRequest", "Host header is required.");
  const found = findRoute({ host, target, headers: head.route }, routes);
  if ("error" in found) throw new RouterError("InvalidRequest", found.error);
  const proxyAuthorization = authority === undefined ? undefined : head.proxyAuthorization;
  return { head, host, target, route: "route" in found ? found.route : undefined, proxyAuthorization };
}

/** `CONNECT host:port`: the host names the sandbox unless the routing headers do. */
function parseConnect({ url }: ClientRequest, head: RequestHead, routes: RouteOptions): ParsedRequest {
  const authority = splitAuthority(url);
  const port = parsePort(authority?.port ?? "");
  if (authority === undefined || port === undefined) throw new RouterError("InvalidRequest", routeErrors.port);
  const byHeader = head.route.id !== undefined;
  const headers = byHeader ? { ...head.route, port: head.route.port ?? authority.port } : {};
  const host = byHeader ? undefined : authority.host;
  const found = findRoute({ host, target: "/", headers }, routes);
  if ("error" in found) throw new RouterError("InvalidRequest", found.error);
  if ("none" in found) throw new RouterError("InvalidRequest", routeErrors.missingId);
  const route = byHeader ? found.route : { ...found.route, port };
  return { head, host: authority.host, target: "/", route, proxyAuthorization: head.proxyAuthorization };
}
