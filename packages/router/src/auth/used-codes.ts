import { RouterError, unauthenticated } from "../router-error.ts";

/** What of a login link is remembered until it would have expired anyway. */
export interface CodeClaims {
  readonly id: string;
  readonly ns: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/** A link lives for a minute: 10,000 are far more logins than people make in one. */
const mostCodes = 10_000;

/**
 * Login links that were used. A used link is never forgotten before it expires: when there are too many, further logins
 * are refused. A namespace has no more than there is still room for, so that one cannot keep others from logging in.
 */
export class UsedCodes {
  readonly #most: number;
  readonly #expiry = new Map<string, CodeClaims>();
  readonly #byNamespace = new Map<string, number>();

  constructor(most: number = mostCodes) {
    this.#most = most;
  }

  /** Throws when the link was used before, or when there is no room to remember it. */
  use(code: CodeClaims, nowSeconds: number): void {
    this.#forgetExpired(nowSeconds);
    if (this.#expiry.has(code.id)) throw unauthenticated();
    const used = this.#byNamespace.get(code.ns) ?? 0;
    if (used >= this.#most - this.#expiry.size) {
      throw new RouterError("WaitingRoomFull", "Too many logins within a minute.", { retryAfterSeconds: 60 });
    }
    this.#expiry.set(code.id, code);
    this.#byNamespace.set(code.ns, used + 1);
  }

  /** All live equally long, so those used first expire first, give or take the minute between link and login. */
  #forgetExpired(nowSeconds: number): void {
    for (const { id, ns, exp } of this.#expiry.values()) {
      if (exp > nowSeconds) return;
      this.#expiry.delete(id);
      const left = (this.#byNamespace.get(ns) ?? 0) - 1;
      if (left > 0) this.#byNamespace.set(ns, left);
      else this.#byNamespace.delete(ns);
    }
  }
}
