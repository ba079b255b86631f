/** Asks each question once however many wait for its answer, and no more than so many at a time. */
export class Questions<A> {
  readonly #most: number;
  readonly #asked = new Map<string, Promise<A>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** The answer to `key`: that of the question under way, or of `put`. It goes on when those who wait hang up. */
  ask(key: string, put: () => Promise<A>): Promise<A> {
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    if (this.#asked.size >= this.#most) {
      return Promise.reject(new Error(`Cannot ask the API server: ${this.#most} questions are under way`));
    }
    const asked = put().finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }
}

/** Nobody's made-up tokens and names become a flood for the API server. */
export const mostQuestions = 256;
