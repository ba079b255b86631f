import type { Credentials } from "../auth/authorizer.ts";
import { basicToken } from "../auth/basic-token.ts";
import { bearerToken } from "../auth/caller.ts";
import { certificateMayCount, cookieMayCount, forwardMayCount, type PageRequest } from "../auth/page-request.ts";
import type { Route } from "../route/route.ts";
import type { ClientRequest } from "./client-request.ts";
import type { ParsedRequest } from "./parse-request.ts";

const noSessions: readonly string[] = [];

/** On the port of E2B's daemon envd, Basic names the user of a process. */
const envdPort = 49983;

/**
 * The credentials of a request that may be used for this route. A browser attaches cookies and client certificates on
 * its own, and it can reach the local port of a port-forward. So these are left out when a web page may have caused the request.
 */
export function credentialsOf(client: ClientRequest, request: ParsedRequest, route: Route): Credentials {
  const { peer, isSecure, certificate, forwarded } = client.connectionInfo;
  const { head, proxyAuthorization } = request;
  // A header that is meant for the router alone takes precedence: `Authorization` may then be meant for the sandbox.
  const bearer = bearerToken(head.ownAuthorization ?? proxyAuthorization ?? head.authorization);
  if (head.sessions.length === 0 && certificate === undefined && forwarded === undefined) {
    return { bearer: bearer ?? basicOf(client, request, route), sessions: noSessions, certificate, peer };
  }
  const page = pageOf(client, request, route);
  const mayUseCookies = head.sessions.length > 0 && cookieMayCount(page);
  // Over TLS only `__Host-` cookies are used: a sandbox on a sibling host name cannot set those.
  const sessions = head.sessions.filter(({ isHostOnly }) => isHostOnly === isSecure).map(({ value }) => value);
  const mayUseCertificate = certificate !== undefined && certificateMayCount(page);
  return {
    bearer,
    sessions: mayUseCookies ? sessions : noSessions,
    certificate: mayUseCertificate ? certificate : undefined,
    forwarded: forwarded !== undefined && forwardMayCount(page) ? forwarded : undefined,
    peer,
  };
}

/**
 * The token in a Basic header. It may be meant for the sandbox, so it counts only if the request has no other credential and
 * does not ask to forward it. Browsers send Basic on their own, like a certificate.
 */
function basicOf(client: ClientRequest, request: ParsedRequest, route: Route): string | undefined {
  const { head, proxyAuthorization } = request;
  const own = head.ownAuthorization ?? proxyAuthorization;
  const isForSandbox = own === undefined && (route.port === envdPort || head.forwardAuthorization);
  const token = isForSandbox ? undefined : basicToken(own ?? head.authorization);
  return token !== undefined && certificateMayCount(pageOf(client, request, route)) ? token : undefined;
}

function pageOf(client: ClientRequest, { head, host }: ParsedRequest, route: Route): PageRequest {
  return {
    method: client.method,
    host: (host ?? "").toLowerCase(),
    origin: head.origin,
    fetchSite: head.fetchSite,
    fetchMode: head.fetchMode,
    fetchDest: head.fetchDest,
    isSecure: client.connectionInfo.isSecure,
    isUpgrade: client.upgrade !== undefined,
    isOwnHost: route.by === "host",
    isNamedByHeader: route.by === "header",
  };
}
