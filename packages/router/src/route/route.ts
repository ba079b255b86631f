/** Which sandbox a request names. It may not exist. */
export interface Route {
  readonly by: "header" | "host" | "path";
  readonly namespace: string;
  /** The name of a Sandbox or of a SandboxClaim. */
  readonly name: string;
  readonly port: number;
  /** If set, the Sandbox must have this UID. */
  readonly uid: string | undefined;
  /** Selects one of the sandbox's addresses. Any other address is ignored. */
  readonly podIp: string | undefined;
  /** The request target for the sandbox, exactly as the client sent it. */
  readonly target: string;
}

/** `none`: the request names no sandbox. */
export type RouteResult = { readonly route: Route } | { readonly error: string } | { readonly none: true };

export const defaultNamespace = "default";
export const defaultPort = 8888;

/** Existing clients compare these messages. */
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

/** Accepts digits only, without leading zeros, which some parsers read as octal. */
export function parsePort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}
