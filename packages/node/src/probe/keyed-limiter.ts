interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

/**
 * Limits how many functions run at the same time, in total and per key; the others wait in order. The first function of a key
 * always runs at once, so that no key can block another.
 */
export class KeyedLimiter {
  readonly #limit: number;
  readonly #perKey: number;
  readonly #running = new Map<string, number>();
  #waiting: Waiting[] = [];
  #total = 0;

  constructor(limit: number, perKey: number) {
    this.#limit = limit;
    this.#perKey = perKey;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(key)) this.#count(key, 1);
    else await new Promise<void>((begin) => this.#waiting.push({ key, begin }));
    try {
      return await work();
    } finally {
      this.#count(key, -1);
      this.#startWaiting();
    }
  }

  #hasRoom(key: string): boolean {
    const own = this.#running.get(key) ?? 0;
    return own === 0 || (own < this.#perKey && this.#total < this.#limit);
  }

  #count(key: string, by: 1 | -1): void {
    const own = (this.#running.get(key) ?? 0) + by;
    if (own === 0) this.#running.delete(key);
    else this.#running.set(key, own);
    this.#total += by;
  }

  #startWaiting(): void {
    const left: Waiting[] = [];
    for (const one of this.#waiting) {
      if (this.#hasRoom(one.key)) {
        this.#count(one.key, 1);
        one.begin();
      } else left.push(one);
    }
    this.#waiting = left;
  }
}
