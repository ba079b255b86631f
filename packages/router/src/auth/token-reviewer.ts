import { createHash } from "node:crypto";
import type { Client } from "@agent-sandbox/kube";
import { type TokenReview, tokenReviews } from "../cluster/resources.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { tenantOf, type User } from "./caller.ts";
import { SingleFlight } from "./single-flight.ts";

export interface TokenReviewerOptions {
  readonly client: Client;
  /** A token must have one of these audiences. Empty: the audience of the API server. */
  readonly audiences: readonly string[];
  readonly ttlMs: number;
  readonly cacheSize: number;
  readonly now: () => number;
}

const callTimeoutMs = 3000;
const failureMs = 1000;
const knownTokenMs = 3_600_000;

type Review = { readonly user: User } | { readonly user: undefined } | { readonly failure: unknown };

/** Authenticates tokens with TokenReviews. Results are cached for a short time under a hash of the token. */
export class TokenReviewer {
  readonly #options: TokenReviewerOptions;
  readonly #known: BoundedCache<Review>;
  /** A separate cache: a caller that invents tokens cannot evict those of users. */
  readonly #refused: BoundedCache<Review>;
  /**
   * The tenant of each token that was valid within the last hour. Their reviews count towards the tenant's share; those of
   * unknown tokens, which anybody can invent, count towards the client's address.
   */
  readonly #tenants: BoundedCache<string>;
  readonly #reviews = new SingleFlight<Review>();

  constructor(options: TokenReviewerOptions) {
    this.#options = options;
    this.#known = new BoundedCache(options.cacheSize);
    this.#refused = new BoundedCache(options.cacheSize);
    this.#tenants = new BoundedCache(options.cacheSize);
  }

  /** Undefined if the token is not valid. Throws if the API server cannot be reached. `peer` is the client's address. */
  async userOf(token: string, peer: string): Promise<User | undefined> {
    const key = createHash("sha256").update(token).digest("base64");
    const now = this.#options.now();
    const review =
      this.#known.get(key, now) ??
      this.#refused.get(key, now) ??
      (await this.#reviews.run(key, this.#tenants.get(key, now) ?? `address ${peer}`, () =>
        this.#reviewAndCache(key, token),
      ));
    if ("failure" in review) throw new Error("Cannot review the token", { cause: review.failure });
    return review.user;
  }

  async #reviewAndCache(key: string, token: string): Promise<Review> {
    const { now, ttlMs } = this.#options;
    const review = await this.#review(token);
    const user = "user" in review ? review.user : undefined;
    if (user !== undefined) this.#tenants.set(key, tenantOf(user), now() + knownTokenMs);
    (user === undefined ? this.#refused : this.#known).set(
      key,
      review,
      now() + ("failure" in review ? failureMs : ttlMs),
    );
    return review;
  }

  async #review(token: string): Promise<Review> {
    const { client, audiences } = this.#options;
    const spec = audiences.length === 0 ? { token } : { token, audiences };
    try {
      const answer = await client.create(tokenReviews, { spec }, { signal: AbortSignal.timeout(callTimeoutMs) });
      return { user: reviewedUser(answer, audiences) };
    } catch (failure) {
      return { failure };
    }
  }
}

/** An API server may ignore the audiences and accept any token, so its answer must name one of ours. */
export function reviewedUser({ status }: TokenReview, audiences: readonly string[]): User | undefined {
  const { authenticated, user, audiences: confirmed = [] } = status ?? {};
  if (authenticated !== true || !user?.username) return undefined;
  if (audiences.length > 0 && !confirmed.some((audience) => audiences.includes(audience))) return undefined;
  const { username, uid, groups, extra } = user;
  return { username, ...(uid ? { uid } : {}), ...(groups ? { groups } : {}), ...(extra ? { extra } : {}) };
}
