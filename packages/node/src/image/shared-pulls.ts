import { FairLimiter } from "../system/fair-limiter.ts";
import type { StoredImage } from "./image-index.ts";
import type { PullRequest } from "./pull-image.ts";
import { canonicalName, type Reference } from "./reference.ts";

/**
 * The number of concurrent pulls. While its registry is slow, a pull costs only a process and a connection, so there may be
 * many. Unpacking, which costs processor time and disk, has its own limit.
 */
const pulls = { total: 16, perKey: 3 };

/** Shares one pull between requests of a namespace for the same image with the same logins, and limits concurrent pulls. */
export class SharedPulls {
  readonly #pull: (reference: Reference, request: PullRequest) => Promise<StoredImage>;
  readonly #running = new Map<string, Promise<StoredImage>>();
  readonly #limiter = new FairLimiter(pulls);

  constructor(pull: (reference: Reference, request: PullRequest) => Promise<StoredImage>) {
    this.#pull = pull;
  }

  async pull(reference: Reference, request: PullRequest): Promise<StoredImage> {
    const { namespace = "", logins = {}, signal } = request;
    // The key includes the namespace, so that a pull that waits for its namespace's limit does not delay another namespace.
    const key = JSON.stringify([namespace, canonicalName(reference), logins]);
    const running = this.#running.get(key);
    // The other pull may be cancelled by its own request; then start one.
    if (running !== undefined) return running.catch(() => this.pull(reference, request));
    const pull = this.#limiter.run(namespace, () => this.#pull(reference, request), signal);
    this.#running.set(key, pull);
    try {
      return await pull;
    } finally {
      this.#running.delete(key);
    }
  }
}
