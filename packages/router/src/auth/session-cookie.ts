/** The name of session cookies. They are not forwarded to sandboxes, and sandboxes cannot set them. */
export const sessionName = "agent-sandbox-session";
/** Browsers accept this prefix only over HTTPS and only for the host itself, so that no other sandbox can set it. */
const hostOnlyName = `__Host-${sessionName}`;

export interface SessionCookie {
  readonly token: string;
  readonly maxAgeSeconds: number;
  /** Whether the request arrived over TLS. */
  readonly secure: boolean;
}

/** Without `Domain`, so that browsers do not send it to other sandboxes. */
export function formatSessionCookie({ token, maxAgeSeconds, secure }: SessionCookie): string {
  const attributes = ["Path=/", `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Lax", ...(secure ? ["Secure"] : [])];
  return `${secure ? hostOnlyName : sessionName}=${token}; ${attributes.join("; ")}`;
}

/** Undefined if a cookie of this name is not a session. */
export function sessionCookieOf(name: string): { readonly isHostOnly: boolean } | undefined {
  if (name === hostOnlyName) return { isHostOnly: true };
  return name === sessionName ? { isHostOnly: false } : undefined;
}

/** Whether a less strict parser could take a cookie of this name for a session: ignores case. */
export function resemblesSession(name: string): boolean {
  const lower = name.toLowerCase();
  return lower === sessionName || lower === hostOnlyName.toLowerCase();
}

/** Trims spaces and tabs only, as browsers do (RFC 6265, 5.2). */
export function trimCookie(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
