import type { IncomingHttpHeaders } from "node:http";

/** The name of the session's cookie. The host name is the dashboard's own, so no other server receives it. */
const cookieName = "agent-sandbox-dashboard";

export function formatCookie(value: string, maxAgeSeconds: number): string {
  return `${cookieName}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

/** Undefined without a session, and with two: one of them was set by somebody else. */
export function sessionCookie({ cookie = "" }: IncomingHttpHeaders): string | undefined {
  const values = cookie
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`))
    .map((pair) => pair.slice(cookieName.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** Headers of every response. */
export const commonHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/**
 * Scripts come from this server only. Style elements need the nonce of the response: the terminal creates some. Trusted Types make
 * the browser refuse every assignment of a string to markup.
 */
export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' blob: data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** Of responses that are not pages. If a browser shows one, it can neither run nor load anything. */
export const dataPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox";
