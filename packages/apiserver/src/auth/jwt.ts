import { createHash, type KeyObject, sign, verify } from "node:crypto";
import { isJsonObject, type JsonObject } from "../api-object.ts";

/** A P-256 key pair and the name by which tokens and verifiers call it. */
export interface TokenKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export type VerifiedJwt = { readonly claims: JsonObject } | { readonly problem: string };

/** The one algorithm: what a token says of its own is compared with it, never followed. */
const algorithm = "ES256";
const signatureBytes = 64;
/** Ours are about one kilobyte; many long audiences may make them longer. */
export const maxJwtLength: number = 16 * 1024;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export function signJwt(claims: JsonObject, { id, privateKey }: TokenKey): string {
  const signed = `${encode({ alg: algorithm, kid: id })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** The claims, unverified, of what has the form of a token: good for telling whose it is, and nothing else. */
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

/** Strict base64url: node's own decoder skips what it does not know. */
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

/** What outsiders need to check tokens (RFC 7517). */
export function publicJwk({ id, publicKey }: TokenKey): JsonObject {
  return { use: "sig", kid: id, alg: algorithm, ...publicKey.export({ format: "jwk" }) };
}

/** The key's name is the digest of its public half, as kube-apiserver makes it. */
export function keyIdOf(publicKey: KeyObject): string {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
}
