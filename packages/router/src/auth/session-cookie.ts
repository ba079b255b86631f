/** Names a browser's session. Such cookies are neither sent to a sandbox nor taken from one. */
export const sessionName = "agent-sandbox-session";
/** Browsers take this name only over HTTPS and only for the host itself, so that no neighbour can set it. */
const hostOnlyName = `__Host-${sessionName}`;

export interface SessionCookie {
  readonly token: string;
  readonly maxAgeSeconds: number;
  /** Whether the browser came over TLS. */
  readonly secure: boolean;
}

/** Host-only: no `Domain`, so that no other sandbox's host name gets it. */
export function formatSessionCookie({ token, maxAgeSeconds, secure }: SessionCookie): string {
  const attributes = ["Path=/", `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Lax", ...(secure ? ["Secure"] : [])];
  return `${secure ? hostOnlyName : sessionName}=${token}; ${attributes.join("; ")}`;
}

/** Undefined when a cookie of this name is not a session. */
export function sessionCookieOf(name: string): { readonly isHostOnly: boolean } | undefined {
  if (name === hostOnlyName) return { isHostOnly: true };
  return name === sessionName ? { isHostOnly: false } : undefined;
}

/** Whether a cookie of this name could be taken for a session by any reader. Names are compared without case here. */
export function resemblesSession(name: string): boolean {
  const lower = name.toLowerCase();
  return lower === sessionName || lower === hostOnlyName.toLowerCase();
}

/** Browsers trim spaces and tabs around cookies and nothing else (RFC 6265, 5.2). */
export function trimCookie(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
