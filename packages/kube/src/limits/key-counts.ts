/** Counts by key, and their total. A key is removed when its count becomes 0, so that the map cannot grow with old keys. */
export class KeyCounts {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** The number of keys with a count above 0. */
  get keys(): number {
    return this.#counts.size;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** The key with the highest count. */
  largest(): string | undefined {
    let [most, found]: [number, string | undefined] = [0, undefined];
    for (const [key, count] of this.#counts) if (count > most) [most, found] = [count, key];
    return found;
  }

  /** A negative amount subtracts. */
  add(key: string, amount = 1): void {
    const count = this.of(key) + amount;
    this.#total += amount;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
