/**
 * A limited number of slots that are held for any time, shared fairly between keys. A key may hold at most half of the slots
 * that the others leave: the first gets half of all, and slots are left for the next.
 */
export class FairSlots {
  readonly #total: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Takes a slot until it is disposed of. Returns undefined when the key has reached its limit. */
  take(key: string): Disposable | undefined {
    const own = this.#held.get(key) ?? 0;
    if (own >= this.mostOf(key)) return undefined;
    this.#held.set(key, own + 1);
    this.#all += 1;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#release(key);
      },
    };
  }

  /** How many slots a key may hold now. */
  mostOf(key: string): number {
    const others = this.#all - (this.#held.get(key) ?? 0);
    return Math.max(0, Math.ceil((this.#total - others) / 2));
  }

  #release(key: string): void {
    this.#all -= 1;
    const left = (this.#held.get(key) ?? 1) - 1;
    if (left === 0) this.#held.delete(key);
    else this.#held.set(key, left);
  }
}
