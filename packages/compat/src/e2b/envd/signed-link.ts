import { createHash, timingSafeEqual } from "node:crypto";
import { unauthorized } from "../../http/http-error.ts";

export type Operation = "read" | "write";

export interface SignedLink {
  readonly path: string;
  readonly operation: Operation;
  readonly username: string;
  readonly signature: string;
  /** Seconds since 1970. */
  readonly expiration: string | undefined;
}

/** Undefined if the query has no signature. */
export function signedLinkOf(query: URLSearchParams, operation: Operation): SignedLink | undefined {
  const signature = query.get("signature");
  if (signature === null) return undefined;
  return {
    path: query.get("path") ?? "",
    operation,
    username: query.get("username") ?? "",
    // Clients may leave a plus sign as it is, which decodes to a space.
    signature: signature.replaceAll(" ", "+"),
    expiration: query.get("signature_expiration") ?? undefined,
  };
}

const signatureForm = /^v1_[A-Za-z0-9+/]{43}$/;

/** Tells for each token whether its holder made the link. The path may be long, and is hashed once for all tokens. */
export function signatureCheck(link: SignedLink): (token: string) => boolean {
  const { path, operation, username, expiration } = link;
  if (!signatureForm.test(link.signature)) return () => false;
  const given = Buffer.from(link.signature);
  const begun = createHash("sha256").update(`${path}:${operation}:${username}:`);
  const end = expiration === undefined ? "" : `:${expiration}`;
  return (token) => {
    const digest = begun.copy().update(`${token}${end}`).digest("base64").replaceAll("=", "");
    const wanted = Buffer.from(`v1_${digest}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  };
}

/** To be called only for a link whose signature is right: others learn nothing about it. */
export function requireUnexpired({ expiration }: SignedLink, nowMs: number): void {
  if (expiration === undefined) return;
  if (!/^\d{1,12}$/.test(expiration) || Number(expiration) * 1000 < nowMs) {
    throw unauthorized("signature is already expired");
  }
}
