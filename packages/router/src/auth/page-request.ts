import { isIP } from "node:net";

/** The headers of a browser that describe the page that caused a request. */
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
  /** Whether the sandbox has the host name for itself. Otherwise the pages of several sandboxes share one origin. */
  readonly isOwnHost: boolean;
  /** Whether `X-Sandbox-ID` names the sandbox. Pages cannot send this header to another origin without a preflight request. */
  readonly isNamedByHeader: boolean;
}

/**
 * Whether a session cookie may be used for this request. All sandboxes are below one domain, and a browser also sends the
 * cookie with requests that another sandbox's page causes. So only the sandbox's own pages and followed links may use it.
 * Without `Origin` and `Sec-Fetch-Site` the page is unknown; browsers omit them over plain HTTP, except to localhost.
 */
export function cookieMayCount(request: PageRequest): boolean {
  const { origin, fetchSite, isOwnHost } = request;
  if (!isOwnHost || (origin === undefined && fetchSite === undefined)) return false;
  return isFromOwnPage(request);
}

/**
 * The same for a client certificate, which browsers also send on their own. A client that is not a browser sends neither
 * header and may use its certificate. Where sandboxes share a host name, only followed links may.
 */
export function certificateMayCount(request: PageRequest): boolean {
  const { origin, fetchSite, isOwnHost } = request;
  if (!isOwnHost && (origin !== undefined || fetchSite === "same-origin")) return isLink(request);
  return isFromOwnPage(request);
}

/**
 * The same for the identity of a port-forward: its local port is open to every page in a browser on that machine. Only programs
 * may use it: they name the sandbox with a header, and the host by an address or as localhost. A name that an attacker's
 * DNS server resolves to that machine is refused (DNS rebinding).
 */
export function forwardMayCount(request: PageRequest): boolean {
  const { isNamedByHeader, origin, fetchSite, host } = request;
  return isNamedByHeader && origin === undefined && fetchSite === undefined && isLocalName(host);
}

/** An IP address or a name below localhost, with or without a port. */
function isLocalName(host: string): boolean {
  const name = /^(.*?)(?::\d{1,5})?$/.exec(host)?.[1] ?? "";
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isIP(name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name) !== 0;
}

function isFromOwnPage(request: PageRequest): boolean {
  const { origin, fetchSite } = request;
  if (origin !== undefined && !isOwnOrigin(origin, request)) return false;
  if (fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none") return true;
  return isLink(request);
}

/** Without TLS here, a proxy in front of the router may have terminated it, so both schemes are accepted. */
function isOwnOrigin(origin: string, { host, isSecure }: PageRequest): boolean {
  return origin === `https://${host}` || (!isSecure && origin === `http://${host}`);
}

/** A top-level navigation with GET or HEAD, not a frame, script or form. */
function isLink({ method, origin, fetchMode, fetchDest, isUpgrade }: PageRequest): boolean {
  const isRead = method === "GET" || method === "HEAD";
  return isRead && !isUpgrade && origin === undefined && fetchMode === "navigate" && fetchDest === "document";
}
