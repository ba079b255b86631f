import { KeyCounts } from "@agent-sandbox/kube";

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
  readonly #running = new KeyCounts();
  #waiting: Waiting[] = [];

  constructor(limit: number, perKey: number) {
    this.#limit = limit;
    this.#perKey = perKey;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(key)) this.#running.add(key);
    else await new Promise<void>((begin) => this.#waiting.push({ key, begin }));
    try {
      return await work();
    } finally {
      this.#running.add(key, -1);
      this.#startWaiting();
    }
  }

  #hasRoom(key: string): boolean {
    const own = this.#running.of(key);
    return own === 0 || (own < this.#perKey && this.#running.total < this.#limit);
  }

  #startWaiting(): void {
    const left: Waiting[] = [];
    for (const one of this.#waiting) {
      if (this.#hasRoom(one.key)) {
        this.#running.add(one.key);
        one.begin();
      } else left.push(one);
    }
    this.#waiting = left;
  }
}
