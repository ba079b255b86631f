import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { type Grant, readGrant } from "./grant.ts";
import type { Keyring, SigningKey } from "./keyring.ts";
import type { TokenClaims } from "./scoped-token.ts";

/** The content of a login link or a browser session: access to one port of one Sandbox by the caller's credential. */
export interface Session {
  readonly claims: Required<TokenClaims>;
  readonly grant: Grant;
}

export type SessionUse = "login" | "session";

/** Browsers keep at most 4096 bytes of a cookie's name and value. */
export const maxSealedLength = 4000;

const version = "s1";
const [ivBytes, tagBytes] = [12, 16];

/** `s1.<key id>.<ciphertext>`, with AES-256-GCM. Each use has a derived key, so that a link cannot serve as a session. */
export function sealSession({ claims, grant }: Session, use: SessionUse, key: SigningKey): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", derivedKey(key, use), iv);
  const text = JSON.stringify({ claims, grant });
  const sealed = Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `${version}.${key.id}.${sealed.toString("base64url")}`;
}

/** Undefined if none of the keys encrypted it for this use, or it has expired. */
export function openSession(
  text: string,
  use: SessionUse,
  { keys, nowSeconds }: { readonly keys: Keyring; readonly nowSeconds: number },
): Session | undefined {
  const [given, keyId, body = "", ...rest] = text.length > maxSealedLength ? [] : text.split(".");
  const key = given === version && rest.length === 0 ? keys.find(({ id }) => id === keyId) : undefined;
  const bytes = Buffer.from(body, "base64url");
  const isCanonical = bytes.length > ivBytes + tagBytes && bytes.toString("base64url") === body;
  const opened = key === undefined || !isCanonical ? undefined : decrypt(bytes, derivedKey(key, use));
  if (opened === undefined) return undefined;
  const { claims, grant: written } = JSON.parse(opened) as { claims: Required<TokenClaims>; grant: unknown };
  const grant = readGrant(written);
  return grant === undefined || claims.use !== use || nowSeconds >= claims.exp ? undefined : { claims, grant };
}

function decrypt(bytes: Buffer, key: Buffer): string | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}

const derived = new WeakMap<SigningKey, Map<SessionUse, Buffer>>();

function derivedKey(key: SigningKey, use: SessionUse): Buffer {
  const known = derived.get(key) ?? new Map<SessionUse, Buffer>();
  derived.set(key, known);
  const before = known.get(use);
  if (before !== undefined) return before;
  const made = Buffer.from(hkdfSync("sha256", key.secret, "", `agent-sandbox/sealed/${use}`, 32));
  known.set(use, made);
  return made;
}
