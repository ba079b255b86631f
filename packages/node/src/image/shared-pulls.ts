import { FairLimiter } from "../system/fair-limiter.ts";
import type { StoredImage } from "./image-index.ts";
import type { PullRequest } from "./pull-image.ts";
import { canonicalName, type Reference } from "./reference.ts";

/**
 * Pulls at the same time. One costs a process and a connection while its registry is slow, so there may be many; what
 * costs processor time and disk, unpacking, has a gate of its own.
 */
const pulls = { total: 16, perKey: 3 };

/** One pull for all who want the same image with the same logins, and no more at a time than there are places. */
export class SharedPulls {
  readonly #pull: (reference: Reference, request: PullRequest) => Promise<StoredImage>;
  readonly #running = new Map<string, Promise<StoredImage>>();
  readonly #gate = new FairLimiter(pulls);

  constructor(pull: (reference: Reference, request: PullRequest) => Promise<StoredImage>) {
    this.#pull = pull;
  }

  async pull(reference: Reference, request: PullRequest): Promise<StoredImage> {
    const { namespace = "", logins = {}, signal } = request;
    // By namespace as well: a pull that waits for its namespace's turn must not make another namespace wait.
    const key = JSON.stringify([namespace, canonicalName(reference), logins]);
    const running = this.#running.get(key);
    // Somebody else's pull may be given up; then it is our turn.
    if (running !== undefined) return running.catch(() => this.pull(reference, request));
    const pull = this.#gate.run(namespace, () => this.#pull(reference, request), signal);
    this.#running.set(key, pull);
    try {
      return await pull;
    } finally {
      this.#running.delete(key);
    }
  }
}
