import { parseTime, type Sandbox } from "@agent-sandbox/api";
import type { Route } from "../route/route.ts";
import type { TokenUse, VerifiedToken } from "./scoped-token.ts";

/** An annotation of Sandboxes: scoped tokens issued before this time (RFC 3339) are revoked. */
export const tokensNotBeforeAnnotation = "agents.x-k8s.io/tokens-not-before";

export interface ScopeCheck {
  readonly token: VerifiedToken;
  readonly use: TokenUse;
  readonly route: Route;
  /** The Sandbox that the route names. Undefined if there is none. */
  readonly sandbox: Sandbox | undefined;
}

/** Whether a verified token is valid for the request: names, UID, port, and not revoked. */
export function tokenCovers({ token, use, route, sandbox }: ScopeCheck): boolean {
  const { version, claims } = token;
  if ((claims.use ?? "access") !== use) return false;
  // Version 1 does not cover addresses and UIDs. The reference implementation refuses both as well.
  if (version === 1 && (route.podIp !== undefined || route.uid !== undefined)) return false;
  const isNamed =
    claims.ns === route.namespace && (claims.name === route.name || claims.name === sandbox?.metadata.name);
  if (!isNamed) return false;
  if (claims.ports !== undefined && !claims.ports.includes(route.port)) return false;
  if (sandbox === undefined) return true;
  if (claims.uid !== undefined && claims.uid !== sandbox.metadata.uid) return false;
  return !isRevoked(sandbox, claims.iat);
}

export function isRevoked(sandbox: Sandbox, issuedAtSeconds: number | undefined): boolean {
  const text = sandbox.metadata.annotations?.[tokensNotBeforeAnnotation];
  if (text === undefined) return false;
  const notBefore = parseTime(text);
  // If the annotation cannot be parsed, all tokens are refused.
  if ("error" in notBefore || issuedAtSeconds === undefined) return true;
  return issuedAtSeconds * 1000 < notBefore.epochMs;
}
