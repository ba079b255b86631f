import { createHash, randomBytes } from "node:crypto";
import { HttpFailure } from "./http-failure.ts";

/** The user behind a login link or a session. */
export interface Login {
  /** The user's own token for the API server and the router. */
  readonly token: string;
  readonly user: string;
  readonly namespace: string;
  /** When the token expires, in milliseconds since 1970. Infinity if it does not. */
  readonly tokenExpiresAt: number;
}

const lifetimeMs = 60_000;
const maxCodes = 1000;

export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("base64url");

/** Codes of login links: valid once, for one minute, in this process only. A code contains nothing of the token. */
export class LoginCodes {
  readonly #codes = new Map<string, Login & { readonly expiresAt: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  create(login: Login): { readonly code: string; readonly expiresAt: number } {
    this.#removeExpired();
    if (this.#codes.size >= maxCodes) {
      throw new HttpFailure(429, "TooManyRequests", "Too many logins within a minute: try again later");
    }
    const code = randomBytes(32).toString("base64url");
    const expiresAt = this.#now() + lifetimeMs;
    this.#codes.set(hashOf(code), { ...login, expiresAt });
    return { code, expiresAt };
  }

  /** Undefined for a code that was used, has expired or never existed. */
  redeem(code: string): Login | undefined {
    this.#removeExpired();
    const hash = hashOf(code);
    const found = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (found === undefined) return undefined;
    const { expiresAt: _, ...login } = found;
    return login;
  }

  #removeExpired(): void {
    const now = this.#now();
    for (const [hash, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(hash);
  }
}
