/** A pseudorandom number generator with a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 (inclusive) to 1 (exclusive), by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 (inclusive) to `count` (exclusive). */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly [T, ...T[]] | readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** An integer up to `most`, usually a small one. */
  few(most: number): number {
    return Math.floor(this.next() ** 2 * (most + 1));
  }

  times<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make);
  }

  bytes(count: number): Buffer {
    return Buffer.from(this.times(count, () => this.below(256)));
  }
}
