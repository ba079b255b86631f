import type { VerifiedCertificate } from "./caller.ts";

/**
 * The credential that gave a caller access. Login links and browser sessions contain it, encrypted, and it is checked again
 * at each use. So they expire with the credential and give no more access than it does. Empty for anonymous callers.
 */
export interface Grant {
  /** A token of the API server, or a scoped token. */
  readonly bearer?: string | undefined;
  readonly certificate?: VerifiedCertificate | undefined;
}

/** When the credential expires, in seconds since 1970. Infinity for opaque tokens. */
export function grantExpiry({ bearer, certificate }: Grant): number {
  if (certificate !== undefined) return certificate.untilMs / 1000;
  const exp = bearer === undefined ? undefined : claimedExpiry(bearer);
  return exp ?? Number.POSITIVE_INFINITY;
}

/** The `exp` claim of a JWT or a scoped token. In both, the payload is the last part but one. Nothing is verified here. */
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

/** Reads the credential of a decrypted session. Only the shape is checked, since the router itself wrote it. */
export function readGrant(value: unknown): Grant | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { bearer, certificate } = value as Grant;
  if (bearer !== undefined && typeof bearer !== "string") return undefined;
  if (certificate === undefined) return bearer === undefined ? {} : { bearer };
  const isWhole = typeof certificate.untilMs === "number" && typeof certificate.user?.username === "string";
  return isWhole ? { certificate } : undefined;
}
