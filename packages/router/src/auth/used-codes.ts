import { FairShare } from "../fair-share.ts";
import { RouterError, unauthenticated } from "../router-error.ts";

/** What of a login link is remembered until it would have expired anyway. */
export interface CodeClaims {
  readonly id: string;
  readonly ns: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/** A link lives for a minute: these are far more logins than people make in one. */
const mostCodes = 10_000;

/**
 * Login links that were used. A used link is never forgotten before it expires: when a namespace has its share of them,
 * further logins to its sandboxes are refused.
 */
export class UsedCodes {
  readonly #share: FairShare;
  readonly #used = new Map<string, CodeClaims>();

  constructor(most: number = mostCodes) {
    this.#share = new FairShare(most);
  }

  /** Throws when the link was used before, or when there is no room to remember it. */
  use(code: CodeClaims, nowSeconds: number): void {
    this.#forgetExpired(nowSeconds);
    if (this.#used.has(code.id)) throw unauthenticated();
    if (!this.#share.take(code.ns)) {
      throw new RouterError("WaitingRoomFull", "Too many logins within a minute.", { retryAfterSeconds: 60 });
    }
    this.#used.set(code.id, code);
  }

  /** Those used first expire first, give or take the minute between link and login: what is left behind goes next time. */
  #forgetExpired(nowSeconds: number): void {
    for (const { id, ns, exp } of this.#used.values()) {
      if (exp > nowSeconds) return;
      this.#used.delete(id);
      this.#share.giveBack(ns);
    }
  }
}
