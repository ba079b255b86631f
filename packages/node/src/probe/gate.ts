interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

/**
 * Lets so many in at a time, and only some of them for one key; the others wait their turn. A key that has nobody inside always
 * gets in, so that no key can keep another out.
 */
export class Gate {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #inside = new Map<string, number>();
  #waiting: Waiting[] = [];
  #total = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(key)) this.#count(key, 1);
    else await new Promise<void>((begin) => this.#waiting.push({ key, begin }));
    try {
      return await work();
    } finally {
      this.#count(key, -1);
      this.#letIn();
    }
  }

  #hasRoom(key: string): boolean {
    const own = this.#inside.get(key) ?? 0;
    return own === 0 || (own < this.#mostOfOne && this.#total < this.#most);
  }

  #count(key: string, by: 1 | -1): void {
    const own = (this.#inside.get(key) ?? 0) + by;
    if (own === 0) this.#inside.delete(key);
    else this.#inside.set(key, own);
    this.#total += by;
  }

  #letIn(): void {
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
