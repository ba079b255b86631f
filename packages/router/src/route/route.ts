/** Which sandbox a request is for, as the caller put it. Nothing of it has been looked up. */
export interface Route {
  readonly by: "header" | "host" | "path";
  readonly namespace: string;
  /** A Sandbox's name, or a claim's. */
  readonly name: string;
  readonly port: number;
  /** Only the Sandbox with this UID will do. */
  readonly uid: string | undefined;
  /** Which of the sandbox's own addresses to take; any other is ignored. */
  readonly podIp: string | undefined;
  /** The request target for the sandbox, byte for byte as it came. */
  readonly target: string;
}

/** `none`: the request names no sandbox at all. */
export type RouteResult = { readonly route: Route } | { readonly error: string } | { readonly none: true };

export const defaultNamespace = "default";
export const defaultPort = 8888;

/** The words are part of the wire. */
export const routeErrors = {
  missingId: "X-Sandbox-ID header is required.",
  id: "Invalid sandbox ID format.",
  namespace: "Invalid namespace format.",
  port: "Invalid port format.",
  podIp: "Invalid target IP address.",
} as const;

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isDnsLabel(text: string): boolean {
  return dnsLabel.test(text);
}

/** Digits alone: no sign, no space, no leading zeros that another reader might take for octal. */
export function parsePort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}
