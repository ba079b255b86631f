import { coreGroup, sandboxes } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { subjectAccessReviews } from "../cluster/resources.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { tenantOf, type User } from "./caller.ts";
import { SingleFlight } from "./single-flight.ts";

export interface AccessReviewerOptions {
  readonly client: Client;
  readonly ttlMs: number;
  readonly cacheSize: number;
  readonly now: () => number;
}

/** The verb a caller needs on a Sandbox to send it traffic. `get` is not enough, because traffic can run code. */
const connectVerb = "connect";

const callTimeoutMs = 3000;

/** Asks the API server whether a user may connect to a Sandbox, and caches the answers for a short time. */
export class AccessReviewer {
  readonly #options: AccessReviewerOptions;
  readonly #known: BoundedCache<boolean>;
  /** A separate cache: a caller that invents names cannot evict the entries of real sandboxes. */
  readonly #refused: BoundedCache<boolean>;
  readonly #reviews = new SingleFlight<boolean>();

  constructor(options: AccessReviewerOptions) {
    this.#options = options;
    this.#known = new BoundedCache(options.cacheSize);
    this.#refused = new BoundedCache(options.cacheSize);
  }

  /** Throws if the API server cannot be reached. That is not cached. */
  async mayConnect(user: User, namespace: string, name: string): Promise<boolean> {
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, namespace, name]);
    const { now, ttlMs } = this.#options;
    const known = this.#known.get(key, now()) ?? this.#refused.get(key, now());
    if (known !== undefined) return known;
    const allowed = await this.#reviews.run(key, tenantOf(user), () => this.#review(user, namespace, name));
    (allowed ? this.#known : this.#refused).set(key, allowed, now() + ttlMs);
    return allowed;
  }

  async #review({ username, ...rest }: User, namespace: string, name: string): Promise<boolean> {
    const resourceAttributes = { group: coreGroup, resource: sandboxes.plural, verb: connectVerb, namespace, name };
    const signal = AbortSignal.timeout(callTimeoutMs);
    const spec = { user: username, ...rest, resourceAttributes };
    const { status } = await this.#options.client.create(subjectAccessReviews, { spec }, { signal });
    return status?.allowed === true && status.denied !== true;
  }
}
