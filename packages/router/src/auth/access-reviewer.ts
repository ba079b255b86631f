import { coreGroup, sandboxes } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { subjectAccessReviews } from "../cluster/resources.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { tenantOf, type User } from "./caller.ts";
import { Questions } from "./questions.ts";

export interface AccessReviewerOptions {
  readonly client: Client;
  readonly ttlMs: number;
  readonly cacheSize: number;
  readonly now: () => number;
}

/** The verb a caller needs on a Sandbox to send it traffic. Reading its object is not enough: traffic runs code. */
const connectVerb = "connect";

const callLimitMs = 3000;

/** Asks the API server whether someone may connect to a Sandbox. Answers are kept for a short time. */
export class AccessReviewer {
  readonly #options: AccessReviewerOptions;
  readonly #known: BoundedCache<boolean>;
  /** Apart from the others: whoever makes up names must not push out those of sandboxes. */
  readonly #refused: BoundedCache<boolean>;
  readonly #questions = new Questions<boolean>();

  constructor(options: AccessReviewerOptions) {
    this.#options = options;
    this.#known = new BoundedCache(options.cacheSize);
    this.#refused = new BoundedCache(options.cacheSize);
  }

  /** Throws when the API server cannot be asked; that is not remembered. */
  async mayConnect(user: User, namespace: string, name: string): Promise<boolean> {
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, namespace, name]);
    const { now, ttlMs } = this.#options;
    const known = this.#known.get(key, now()) ?? this.#refused.get(key, now());
    if (known !== undefined) return known;
    const allowed = await this.#questions.ask(key, tenantOf(user), () => this.#ask(user, namespace, name));
    (allowed ? this.#known : this.#refused).set(key, allowed, now() + ttlMs);
    return allowed;
  }

  async #ask({ username, ...rest }: User, namespace: string, name: string): Promise<boolean> {
    const resourceAttributes = { group: coreGroup, resource: sandboxes.plural, verb: connectVerb, namespace, name };
    const signal = AbortSignal.timeout(callLimitMs);
    const spec = { user: username, ...rest, resourceAttributes };
    const { status } = await this.#options.client.create(subjectAccessReviews, { spec }, { signal });
    return status?.allowed === true && status.denied !== true;
  }
}
