/** The cookie that carries a browser's session. Neither sent to a sandbox nor taken from one. */
export const sessionCookie = "agent-sandbox-session";

export interface SessionCookie {
  readonly token: string;
  readonly maxAgeSeconds: number;
  /** Whether the browser came over TLS. */
  readonly secure: boolean;
}

/** Host-only: no `Domain`, so that no other sandbox's host name gets it. */
export function formatSessionCookie({ token, maxAgeSeconds, secure }: SessionCookie): string {
  const attributes = ["Path=/", `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Lax", ...(secure ? ["Secure"] : [])];
  return `${sessionCookie}=${token}; ${attributes.join("; ")}`;
}

/** Whether a `Set-Cookie` of a sandbox would replace the session. */
export function setsSession(setCookie: string): boolean {
  return setCookie.trimStart().startsWith(`${sessionCookie}=`);
}

export interface BrowserRequest {
  readonly method: string;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly fetchMode: string | undefined;
  readonly ownOrigin: string;
  readonly isUpgrade: boolean;
}

/**
 * Whether a cookie may speak for this request. Sandboxes are neighbours under one domain, and a browser sends the cookie
 * with what a neighbour's page asks for: only the sandbox's own pages, and a person who follows a link, may use it.
 */
export function cookieMayCount(request: BrowserRequest): boolean {
  const { method, origin, ownOrigin, fetchSite, fetchMode, isUpgrade } = request;
  if (origin !== undefined && origin !== ownOrigin) return false;
  const isNavigation = fetchMode === "navigate" && (method === "GET" || method === "HEAD") && !isUpgrade;
  if (fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none") return true;
  return isNavigation;
}
