import type { Stored } from "./store.ts";

/** The current objects of one resource, by key and in the order of their keys. */
export class Objects {
  readonly #byKey: Map<string, Stored>;
  readonly #keys: string[];

  /** Takes the map over. */
  constructor(byKey: Map<string, Stored> = new Map()) {
    this.#byKey = byKey;
    this.#keys = [...byKey.keys()].sort();
  }

  get size(): number {
    return this.#keys.length;
  }

  get(key: string): Stored | undefined {
    return this.#byKey.get(key);
  }

  set(key: string, stored: Stored): void {
    if (!this.#byKey.has(key)) {
      const last = this.#keys.at(-1);
      if (last === undefined || last < key) this.#keys.push(key);
      else this.#keys.splice(this.#lowerBound(key), 0, key);
    }
    this.#byKey.set(key, stored);
  }

  delete(key: string): void {
    if (this.#byKey.delete(key)) this.#keys.splice(this.#lowerBound(key), 1);
  }

  *list(prefix: string): Generator<Stored> {
    for (const [, stored] of this.entries(prefix)) yield stored;
  }

  /** Keys that start with `prefix`, in order, with their objects. The iteration must end before the next change. */
  *entries(prefix: string): Generator<[string, Stored]> {
    for (let at = this.#lowerBound(prefix); at < this.#keys.length; at += 1) {
      const key = this.#keys[at] as string;
      if (!key.startsWith(prefix)) return;
      yield [key, this.#byKey.get(key) as Stored];
    }
  }

  #lowerBound(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
