import { parseTime, type Sandbox } from "@agent-sandbox/api";
import type { Route } from "../route/route.ts";
import type { TokenUse, VerifiedToken } from "./scoped-token.ts";

/** On a Sandbox: scoped tokens issued before this moment are revoked. RFC 3339. */
export const tokensNotBeforeAnnotation = "agents.x-k8s.io/tokens-not-before";

export interface ScopeQuestion {
  readonly token: VerifiedToken;
  readonly use: TokenUse;
  readonly route: Route;
  /** What the route names; absent when there is no such Sandbox. */
  readonly sandbox: Sandbox | undefined;
}

/** Whether a genuine token covers the request: the names, the Sandbox's UID, the port, and no revocation since. */
export function tokenCovers({ token, use, route, sandbox }: ScopeQuestion): boolean {
  const { version, claims } = token;
  if ((claims.use ?? "access") !== use) return false;
  // Version 1 knows nothing of addresses or UIDs, and existing verifiers refuse both.
  if (version === 1 && (route.podIp !== undefined || route.uid !== undefined)) return false;
  const isNamed =
    claims.ns === route.namespace && (claims.name === route.name || claims.name === sandbox?.metadata.name);
  if (!isNamed) return false;
  if (claims.ports !== undefined && !claims.ports.includes(route.port)) return false;
  if (sandbox === undefined) return true;
  if (claims.uid !== undefined && claims.uid !== sandbox.metadata.uid) return false;
  return !isRevoked(sandbox, claims.iat);
}

function isRevoked(sandbox: Sandbox, issuedAtSeconds: number | undefined): boolean {
  const text = sandbox.metadata.annotations?.[tokensNotBeforeAnnotation];
  if (text === undefined) return false;
  const notBefore = parseTime(text);
  // What cannot be read cannot be obeyed: better no token than one that was revoked.
  if ("error" in notBefore || issuedAtSeconds === undefined) return true;
  return issuedAtSeconds * 1000 < notBefore.epochMs;
}
