import type { VerifiedCertificate } from "./caller.ts";

/**
 * The credential by which a caller was let in. A login link and a browser session carry it, encrypted, and it is checked
 * again at each use: they end with the credential and allow nothing it does not. Empty when the router asked for none.
 */
export interface Grant {
  /** A token of the API server, or a scoped token. */
  readonly bearer?: string | undefined;
  readonly certificate?: VerifiedCertificate | undefined;
}

/** When a credential is known to expire, in seconds since 1970. Opaque tokens do not tell. */
export function grantExpiry({ bearer, certificate }: Grant): number {
  if (certificate !== undefined) return certificate.untilMs / 1000;
  const exp = bearer === undefined ? undefined : claimedExpiry(bearer);
  return exp ?? Number.POSITIVE_INFINITY;
}

/** `exp` of a JWT, or of a scoped token, whose payload stands in the second place but last as well. Nothing is verified here. */
function claimedExpiry(bearer: string): number | undefined {
  const payload = bearer.split(".").at(-2);
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload ?? "", "base64url").toString("utf8"));
    const { exp } = (claims ?? {}) as { exp?: unknown };
    return typeof exp === "number" && Number.isFinite(exp) ? exp : undefined;
  } catch {
    return undefined;
  }
}

/** What was read from an encrypted session. The router wrote it, so only its shape is checked. */
export function readGrant(value: unknown): Grant | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { bearer, certificate } = value as Grant;
  if (bearer !== undefined && typeof bearer !== "string") return undefined;
  if (certificate === undefined) return bearer === undefined ? {} : { bearer };
  const isWhole = typeof certificate.untilMs === "number" && typeof certificate.user?.username === "string";
  return isWhole ? { certificate } : undefined;
}
