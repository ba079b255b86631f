import { createHmac, timingSafeEqual } from "node:crypto";
import type { Keyring, SigningKey } from "./keyring.ts";

/** What a token lets its holder do. Version 1 carries `ns`, `name` and `exp` alone. */
export interface TokenClaims {
  readonly ns: string;
  readonly name: string;
  /** Seconds since 1970; the second itself is too late. */
  readonly exp: number;
  /** Only the Sandbox with this UID, not a later one of the same name. */
  readonly uid?: string;
  /** Any port when absent. */
  readonly ports?: readonly number[];
  /** Seconds since 1970, with milliseconds: a revocation falls before or after it. */
  readonly iat?: number;
  readonly id?: string;
  /** `access` for a token; a one-time `login` and the `session` it opens are encrypted (`sealed-session.ts`). */
  readonly use?: TokenUse;
}

export type TokenUse = "access" | "login" | "session";

export interface VerifiedToken {
  readonly version: 1 | 2;
  readonly claims: TokenClaims;
}

/** `v1.<payload>.<signature>`, as others write and read it. Throws when the claims make no token. */
export function mintV1(claims: Pick<TokenClaims, "ns" | "name" | "exp">, key: SigningKey): string {
  const { ns, name, exp } = claims;
  if (ns === "" || name === "") throw new Error("Cannot mint a token: namespace and name must not be empty");
  const payload = encode({ ns, name, exp });
  return `v1.${payload}.${sign(key, "v1", payload).toString("base64url")}`;
}

/** `v2.<key id>.<payload>.<signature>`: bound to a UID, ports and a key. */
export function mintV2(claims: TokenClaims, key: SigningKey): string {
  const payload = encode(claims);
  return `v2.${key.id}.${payload}.${sign(key, "v2", payload).toString("base64url")}`;
}

/** Whether a bearer token is the router's own; others belong to the API server. A session (`s1`) opens nothing as one. */
export function looksScoped(token: string): boolean {
  return /^(?:v[12]|s1)\./.test(token);
}

// A token has a few hundred bytes; what is longer is not worth a hash.
const longestToken = 4096;

/** The claims of a token that one of the keys signed and that has not expired. Undefined says no more than that. */
export function verifyToken(token: string, keys: Keyring, nowSeconds: number): VerifiedToken | undefined {
  if (token.length > longestToken) return undefined;
  const parts = token.split(".");
  const [version, ...rest] = parts;
  const [keyId, payload, signature] = version === "v2" ? rest : [undefined, ...rest];
  const isWhole = (version === "v1" && parts.length === 3) || (version === "v2" && parts.length === 4);
  if (!isWhole || payload === undefined || signature === undefined) return undefined;
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

/** Only the one canonical spelling: a signature has no second form. */
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
  // What version 1 cannot say it does not mean, even if someone wrote it.
  if (version === "v1") return claims;
  const isWhole =
    typeof uid === "string" &&
    typeof id === "string" &&
    Number.isFinite(iat) &&
    (use === "access" || use === "login" || use === "session") &&
    (ports === undefined || (Array.isArray(ports) && ports.every((port) => Number.isInteger(port))));
  if (!isWhole) return undefined;
  return { ...claims, uid, id, iat: iat as number, use, ...(ports === undefined ? {} : { ports: ports as number[] }) };
}
