import { FairShare } from "@agent-sandbox/kube";
import { RouterError, unauthenticated } from "../router-error.ts";

/** The part of a login link that is kept until it expires. */
export interface CodeClaims {
  readonly id: string;
  readonly ns: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/** Links are valid for one minute, and there are far fewer logins per minute. */
const maxCodes = 10_000;

/**
 * Remembers used login links until they expire. If a namespace exceeds its share of them, further logins to its sandboxes
 * are refused, since a forgotten link could be used again.
 */
export class UsedCodes {
  readonly #share: FairShare;
  readonly #used = new Map<string, CodeClaims>();

  constructor(max: number = maxCodes) {
    this.#share = new FairShare(max);
  }

  /** Throws if the link was used before or cannot be remembered. */
  use(code: CodeClaims, nowSeconds: number): void {
    this.#forgetExpired(nowSeconds);
    if (this.#used.has(code.id)) throw unauthenticated();
    if (!this.#share.take(code.ns)) {
      throw new RouterError("TooManyLogins", "Too many logins within a minute.", { retryAfterSeconds: 60 });
    }
    this.#used.set(code.id, code);
  }

  /** Stops at the first link that is still valid. Links after it that have expired are removed later. */
  #forgetExpired(nowSeconds: number): void {
    for (const { id, ns, exp } of this.#used.values()) {
      if (exp > nowSeconds) return;
      this.#used.delete(id);
      this.#share.giveBack(ns);
    }
  }
}
