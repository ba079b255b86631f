import { createHash } from "node:crypto";
import { parseTime, type Sandbox } from "@agent-sandbox/api";
import type { Keyring, SigningKey } from "./keyring.ts";
import { mintV2, verifyToken } from "./scoped-token.ts";
import { isRevoked, tokensNotBeforeAnnotation } from "./token-scope.ts";

/** What a token of one Sandbox opens. */
export interface SandboxScope {
  readonly namespace: string;
  /** The name of the Sandbox, or of the claim that holds it. */
  readonly name: string;
  /** Default: all ports. */
  readonly ports?: readonly number[];
}

interface Minted {
  readonly keys: Keyring;
  readonly scope: string;
  readonly tokens: readonly string[];
}

/** The year 3000. The token ends with its Sandbox. */
const endSeconds = 32_503_680_000;

/**
 * Issues scoped tokens that are valid as long as their Sandbox, and are the same each time: clients keep them for days and sign links
 * with them. Revoking the tokens of the Sandbox replaces them, and so does a new signing key.
 */
export class SandboxTokens {
  readonly #keys: () => Keyring;
  /** The last tokens for each object of the cache: a link without a name is compared with those of a thousand Sandboxes. */
  readonly #minted = new WeakMap<Sandbox, Minted>();

  constructor(keys: () => Keyring) {
    this.#keys = keys;
  }

  mint(sandbox: Sandbox, scope: SandboxScope): string {
    return mintWith(this.#keys()[0], sandbox, scope);
  }

  /** The tokens of every key that is still accepted, the newest first. */
  mintAll(sandbox: Sandbox, scope: SandboxScope): readonly string[] {
    const keys = this.#keys();
    const wanted = JSON.stringify(scope);
    const known = this.#minted.get(sandbox);
    if (known?.keys === keys && known.scope === wanted) return known.tokens;
    const tokens = keys.map((key) => mintWith(key, sandbox, scope));
    this.#minted.set(sandbox, { keys, scope: wanted, tokens });
    return tokens;
  }

  /** Undefined if no key signed the token or it has expired. It may have been revoked since. */
  verify(token: string): (SandboxScope & { readonly uid: string }) | undefined {
    const { claims } = verifyToken(token, this.#keys(), Date.now() / 1000) ?? {};
    if (claims?.uid === undefined || claims.use !== "access") return undefined;
    const { ns: namespace, name, uid, ports } = claims;
    return { namespace, name, uid, ...(ports !== undefined && { ports }) };
  }

  isRevoked(token: string, sandbox: Sandbox): boolean {
    return isRevoked(sandbox, verifyToken(token, this.#keys(), Date.now() / 1000)?.claims.iat);
  }
}

function mintWith(key: SigningKey, { metadata }: Sandbox, { namespace, name, ports }: SandboxScope): string {
  const { uid = "", creationTimestamp = "", annotations } = metadata;
  const iat = issuedAtSeconds(annotations?.[tokensNotBeforeAnnotation]) ?? issuedAtSeconds(creationTimestamp) ?? 0;
  const scope = { ns: namespace, name, uid, ...(ports === undefined ? {} : { ports }) };
  // Limits are counted by the id, which must not depend on the key.
  const id = createHash("sha256").update(JSON.stringify(scope)).digest("base64url").slice(0, 12);
  return mintV2({ ...scope, id, iat, exp: endSeconds, use: "access" }, key);
}

/** Rounded up, so that a token is not older than the revocation that it follows. */
function issuedAtSeconds(time: string | undefined): number | undefined {
  const parsed = time === undefined ? undefined : parseTime(time);
  return parsed === undefined || "error" in parsed ? undefined : Math.ceil(parsed.epochMs / 1000);
}
