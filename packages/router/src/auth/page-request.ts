/** What a browser says about the page that caused a request. */
export interface PageRequest {
  readonly method: string;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly fetchMode: string | undefined;
  readonly fetchDest: string | undefined;
  /** The host name and port of the request, in lower case. */
  readonly host: string;
  readonly isSecure: boolean;
  readonly isUpgrade: boolean;
  /** Whether the host name is this sandbox's alone. Otherwise the pages of several sandboxes are one origin. */
  readonly isOwnHost: boolean;
}

/**
 * Whether a session cookie may count for this request. Sandboxes are neighbours under one domain, and a browser sends the
 * cookie with what a neighbour's page asks for: only the sandbox's own pages, and a person who follows a link, may use it.
 * Without `Origin` and `Sec-Fetch-Site` nobody knows who asked: browsers leave them out over plain HTTP, except to localhost.
 */
export function cookieMayCount(request: PageRequest): boolean {
  const { origin, fetchSite, isOwnHost } = request;
  if (!isOwnHost || (origin === undefined && fetchSite === undefined)) return false;
  return isFromOwnPage(request);
}

/**
 * The same for a client certificate, which browsers send by themselves as well. A client that is not a browser sends
 * neither header and may use it. Where sandboxes share a host name no page may, except by following a link.
 */
export function certificateMayCount(request: PageRequest): boolean {
  const { origin, fetchSite, isOwnHost } = request;
  if (!isOwnHost && (origin !== undefined || fetchSite === "same-origin")) return isLink(request);
  return isFromOwnPage(request);
}

function isFromOwnPage(request: PageRequest): boolean {
  const { origin, fetchSite } = request;
  if (origin !== undefined && !isOwnOrigin(origin, request)) return false;
  if (fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none") return true;
  return isLink(request);
}

/** A proxy in front of the router may have ended TLS: then both schemes are this host's. */
function isOwnOrigin(origin: string, { host, isSecure }: PageRequest): boolean {
  return origin === `https://${host}` || (!isSecure && origin === `http://${host}`);
}

/** A whole window that shows the answer to a GET: frames, scripts and forms are not. */
function isLink({ method, origin, fetchMode, fetchDest, isUpgrade }: PageRequest): boolean {
  const isRead = method === "GET" || method === "HEAD";
  return isRead && !isUpgrade && origin === undefined && fetchMode === "navigate" && fetchDest === "document";
}
