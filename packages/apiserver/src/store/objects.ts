import type { Stored } from "./store.ts";

/** The current objects of one resource, sorted by key. */
export class Objects {
  readonly #byKey: Map<string, Stored>;
  readonly #keys: string[];

  /** Uses the map itself, not a copy. */
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

  /** The keys that start with `prefix`, sorted, with their objects. Do not change the objects during the iteration. */
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
