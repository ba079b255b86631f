import { createHmac, timingSafeEqual } from "node:crypto";
import type { Keyring, SigningKey } from "./keyring.ts";

/** The scope of a token. Version 1 has only `ns`, `name` and `exp`. */
export interface TokenClaims {
  readonly ns: string;
  readonly name: string;
  /** Seconds since 1970. The token is not valid from then on. */
  readonly exp: number;
  /** Valid only for the Sandbox with this UID, not for a later one of the same name. */
  readonly uid?: string;
  /** Default: all ports. */
  readonly ports?: readonly number[];
  /** Seconds since 1970 with a fraction, so that it can be compared with the time of a revocation. */
  readonly iat?: number;
  readonly id?: string;
  /** `access` for tokens. Login links and sessions have the other two and are encrypted (`sealed-session.ts`). */
  readonly use?: TokenUse;
}

export type TokenUse = "access" | "login" | "session";

export interface VerifiedToken {
  readonly version: 1 | 2;
  readonly claims: TokenClaims;
}

/** `v1.<payload>.<signature>`, the format of the reference implementation. Throws if a name is empty. */
export function mintV1(claims: Pick<TokenClaims, "ns" | "name" | "exp">, key: SigningKey): string {
  const { ns, name, exp } = claims;
  if (ns === "" || name === "") throw new Error("Cannot mint a token: namespace and name must not be empty");
  const payload = encode({ ns, name, exp });
  return `v1.${payload}.${sign(key, "v1", payload).toString("base64url")}`;
}

/** `v2.<key id>.<payload>.<signature>`, which adds a UID, ports and the id of the key. */
export function mintV2(claims: TokenClaims, key: SigningKey): string {
  const payload = encode(claims);
  return `v2.${key.id}.${payload}.${sign(key, "v2", payload).toString("base64url")}`;
}

/** Whether the router verifies this bearer token itself. The API server verifies all others. A session (`s1`) is not valid as one. */
export function looksScoped(token: string): boolean {
  return /^(?:v[12]|s1)\./.test(token);
}

/** Tokens have a few hundred bytes. Longer ones are refused without computing a hash. */
const maxTokenLength = 4096;

/** Undefined if none of the keys signed the token or it has expired. */
export function verifyToken(token: string, keys: Keyring, nowSeconds: number): VerifiedToken | undefined {
  if (token.length > maxTokenLength) return undefined;
  const parts = token.split(".");
  const [version, ...rest] = parts;
  const [keyId, payload, signature] = version === "v2" ? rest : [undefined, ...rest];
  const isComplete = (version === "v1" && parts.length === 3) || (version === "v2" && parts.length === 4);
  if (!isComplete || payload === undefined || signature === undefined) return undefined;
  const given = decode(signature);
  const candidates = keyId === undefined ? keys : keys.filter(({ id }) => id === keyId);
  if (given === undefined || !candidates.some((key) => matches(given, sign(key, version, payload)))) {
    return undefined;
  }
  const claims = readClaims(payload, version);
  return claims === undefined || nowSeconds >= claims.exp ? undefined : { version: version === "v1" ? 1 : 2, claims };
}

function sign(key: SigningKey, version: "v1" | "v2", payload: string): Buffer {
  return createHmac("sha256", key.secret).update(`agent-sandbox/scoped-token/${version}.${payload}`).digest();
}

function matches(given: Buffer, wanted: Buffer): boolean {
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Accepts only the canonical encoding, so that each signature has one form. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function encode(claims: object): string {
  return Buffer.from(JSON.stringify(claims)).toString("base64url");
}

function readClaims(payload: string, version: "v1" | "v2"): TokenClaims | undefined {
  let value: unknown;
  try {
    value = JSON.parse(decode(payload)?.toString("utf8") ?? "");
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { ns, name, exp, uid, ports, iat, id, use = "access" } = value as Partial<Record<keyof TokenClaims, unknown>>;
  if (typeof ns !== "string" || typeof name !== "string" || !Number.isSafeInteger(exp)) return undefined;
  const claims = { ns, name, exp: exp as number };
  // Other claims have no meaning in version 1.
  if (version === "v1") return claims;
  const isComplete =
    typeof uid === "string" &&
    typeof id === "string" &&
    Number.isFinite(iat) &&
    (use === "access" || use === "login" || use === "session") &&
    (ports === undefined || (Array.isArray(ports) && ports.every((port) => Number.isInteger(port))));
  if (!isComplete) return undefined;
  return { ...claims, uid, id, iat: iat as number, use, ...(ports === undefined ? {} : { ports: ports as number[] }) };
}
