import { createHash } from "node:crypto";
import type { Client } from "@agent-sandbox/kube";
import { type TokenReview, tokenReviews } from "../cluster/resources.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { tenantOf, type User } from "./caller.ts";
import { Questions } from "./questions.ts";

export interface TokenReviewerOptions {
  readonly client: Client;
  /** A token must be meant for one of these; for the API server itself when empty. */
  readonly audiences: readonly string[];
  readonly ttlMs: number;
  readonly cacheSize: number;
  readonly now: () => number;
}

/** One call to the API server may take this long. */
const callLimitMs = 3000;
const failureMs = 1000;
const knownTokenMs = 3_600_000;

type Verdict = { readonly user: User } | { readonly user: undefined } | { readonly failure: unknown };

/** Asks the API server whose a token is. Answers are kept for a short time, under a hash of the token. */
export class TokenReviewer {
  readonly #options: TokenReviewerOptions;
  readonly #known: BoundedCache<Verdict>;
  /** Apart from the others: whoever makes up tokens must not push out those of users. */
  readonly #refused: BoundedCache<Verdict>;
  /** Tokens that were good not long ago do not queue with new ones, which anybody can make up. */
  readonly #tenants: BoundedCache<string>;
  readonly #questions = new Questions<Verdict>();

  constructor(options: TokenReviewerOptions) {
    this.#options = options;
    this.#known = new BoundedCache(options.cacheSize);
    this.#refused = new BoundedCache(options.cacheSize);
    this.#tenants = new BoundedCache(options.cacheSize);
  }

  /** Undefined: nobody's. Throws when the API server cannot be asked. `peer` is the address it came from. */
  async userOf(token: string, peer: string): Promise<User | undefined> {
    const key = createHash("sha256").update(token).digest("base64");
    const now = this.#options.now();
    const verdict =
      this.#known.get(key, now) ??
      this.#refused.get(key, now) ??
      (await this.#questions.ask(key, this.#tenants.get(key, now) ?? `address ${peer}`, () => this.#ask(key, token)));
    if ("failure" in verdict) throw new Error("Cannot review the token", { cause: verdict.failure });
    return verdict.user;
  }

  async #ask(key: string, token: string): Promise<Verdict> {
    const { now, ttlMs } = this.#options;
    const verdict = await this.#review(token);
    const user = "user" in verdict ? verdict.user : undefined;
    if (user !== undefined) this.#tenants.set(key, tenantOf(user), now() + knownTokenMs);
    (user === undefined ? this.#refused : this.#known).set(
      key,
      verdict,
      now() + ("failure" in verdict ? failureMs : ttlMs),
    );
    return verdict;
  }

  async #review(token: string): Promise<Verdict> {
    const { client, audiences } = this.#options;
    const spec = audiences.length === 0 ? { token } : { token, audiences };
    try {
      const review = await client.create(tokenReviews, { spec }, { signal: AbortSignal.timeout(callLimitMs) });
      return { user: reviewedUser(review, audiences) };
    } catch (failure) {
      return { failure };
    }
  }
}

/** An API server that ignores audiences would let a token for anything else pass: its answer must name one of ours. */
export function reviewedUser({ status }: TokenReview, audiences: readonly string[]): User | undefined {
  const { authenticated, user, audiences: confirmed = [] } = status ?? {};
  if (authenticated !== true || !user?.username) return undefined;
  if (audiences.length > 0 && !confirmed.some((audience) => audiences.includes(audience))) return undefined;
  const { username, uid, groups, extra } = user;
  return { username, ...(uid ? { uid } : {}), ...(groups ? { groups } : {}), ...(extra ? { extra } : {}) };
}
