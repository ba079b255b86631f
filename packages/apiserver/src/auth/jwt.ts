import { createHash, type KeyObject, sign, verify } from "node:crypto";
import { isJsonObject, type JsonObject } from "../api-object.ts";

/** A P-256 key pair and its key ID. */
export interface TokenKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export type VerifiedJwt = { readonly claims: JsonObject } | { readonly problem: string };

/** The only accepted algorithm. The one in a token's header is compared with it and never used. */
const algorithm = "ES256";
const signatureBytes = 64;
/** Tokens have about 1 KiB, and more with many long audiences. */
export const maxJwtLength: number = 16 * 1024;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export function signJwt(claims: JsonObject, { id, privateKey }: TokenKey): string {
  const signed = `${encode({ alg: algorithm, kid: id })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** The unverified claims of a token. Use them only to find the issuer. */
export function peekClaims(token: string): JsonObject | undefined {
  if (token.length > maxJwtLength) return undefined;
  const parts = token.split(".");
  return parts.length === 3 ? decodeObject(parts[1] as string) : undefined;
}

export function verifyJwt(token: string, key: TokenKey): VerifiedJwt {
  if (token.length > maxJwtLength) return { problem: "the token is too long" };
  const [head = "", body = "", tail = "", ...more] = token.split(".");
  const header = decodeObject(head);
  const claims = decodeObject(body);
  const signature = decode(tail);
  if (more.length > 0 || header === undefined || claims === undefined || signature === undefined) {
    return { problem: "the token is malformed" };
  }
  if (header["alg"] !== algorithm || "crit" in header) return { problem: "unexpected signature algorithm" };
  if (header["kid"] !== key.id) return { problem: "invalid signature, no keys found" };
  const verifier = { key: key.publicKey, dsaEncoding: "ieee-p1363" } as const;
  const good =
    signature.length === signatureBytes && verify("sha256", Buffer.from(`${head}.${body}`), verifier, signature);
  return good ? { claims } : { problem: "invalid signature" };
}

/** Decodes base64url strictly. Node's decoder skips invalid characters. */
function decode(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function decodeObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(decode(text)));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The public key for other servers to verify tokens (RFC 7517). */
export function publicJwk({ id, publicKey }: TokenKey): JsonObject {
  return { use: "sig", kid: id, alg: algorithm, ...publicKey.export({ format: "jwk" }) };
}

/** The key ID is a digest of the public key, computed as in kube-apiserver. */
export function keyIdOf(publicKey: KeyObject): string {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
}
