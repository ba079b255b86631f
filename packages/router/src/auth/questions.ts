import { FairShare } from "../fair-share.ts";

/** Made-up tokens and names of one caller must not become a flood for the API server. */
const mostQuestions = 512;

/** Asks each question once however many wait for its answer, and no more than so many at a time. */
export class Questions<A> {
  readonly #share: FairShare;
  readonly #asked = new Map<string, Promise<A>>();

  constructor(most: number = mostQuestions) {
    this.#share = new FairShare(most);
  }

  /**
   * The answer to `key`: that of the question under way, or of `put`. It goes on when those who wait hang up. Each `tenant`
   * has a share of the questions under way.
   */
  ask(key: string, tenant: string, put: () => Promise<A>): Promise<A> {
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    if (!this.#share.take(tenant)) {
      return Promise.reject(new Error("Cannot ask the API server: too many questions are under way"));
    }
    const asked = put().finally(() => {
      this.#asked.delete(key);
      this.#share.giveBack(tenant);
    });
    this.#asked.set(key, asked);
    return asked;
  }
}
