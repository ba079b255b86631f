/**
 * Places that are held for as long as their holder likes, shared by key. A key may hold at most half of what the others
 * leave: alone it gets half of all, and whoever comes next always finds some.
 */
export class Shares {
  readonly #total: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Takes a place until it is given back. Undefined when the key has its share. */
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
        this.#giveBack(key);
      },
    };
  }

  /** How many places a key may hold now. */
  mostOf(key: string): number {
    const others = this.#all - (this.#held.get(key) ?? 0);
    return Math.max(0, Math.ceil((this.#total - others) / 2));
  }

  #giveBack(key: string): void {
    this.#all -= 1;
    const left = (this.#held.get(key) ?? 1) - 1;
    if (left === 0) this.#held.delete(key);
    else this.#held.set(key, left);
  }
}
