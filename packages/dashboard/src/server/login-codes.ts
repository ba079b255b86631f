import { createHash, randomBytes } from "node:crypto";
import { tooMany } from "./http-failure.ts";
import { UserShare } from "./user-share.ts";

/** The user behind a login link or a session. */
export interface Login {
  /** The user's own token for the API server and the router. */
  readonly token: string;
  readonly user: string;
  readonly namespace: string;
  /** When the token expires, in milliseconds since 1970. Infinity if it does not. */
  readonly tokenExpiresAt: number;
}

interface Code {
  /** Undefined after it was redeemed. The code counts until it expires, because the limit is for the logins within a minute. */
  login: Login | undefined;
  readonly expiresAt: number;
  readonly slot: Disposable;
}

const lifetimeMs = 60_000;

export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("base64url");

/** Codes of login links: valid once, for one minute, in this process only. A code contains nothing of the token. */
export class LoginCodes {
  readonly #codes = new Map<string, Code>();
  readonly #share = new UserShare({ total: 1000, perUser: 60 });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  create(login: Login): { readonly code: string; readonly expiresAt: number } {
    this.#removeExpired();
    const slot = this.#share.hold(login.user);
    if (slot === undefined) throw tooMany("Too many logins of this user within a minute: try again later");
    const code = randomBytes(32).toString("base64url");
    const expiresAt = this.#now() + lifetimeMs;
    this.#codes.set(hashOf(code), { login, expiresAt, slot });
    return { code, expiresAt };
  }

  /** Undefined for a code that was used, has expired or never existed. */
  redeem(code: string): Login | undefined {
    this.#removeExpired();
    const found = this.#codes.get(hashOf(code));
    const login = found?.login;
    if (found !== undefined) found.login = undefined;
    return login;
  }

  #removeExpired(): void {
    const now = this.#now();
    for (const [hash, code] of this.#codes) {
      if (code.expiresAt > now) continue;
      this.#codes.delete(hash);
      code.slot[Symbol.dispose]();
    }
  }
}
