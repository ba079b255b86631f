import { KeyCounts } from "./key-counts.ts";

/**
 * A limit shared by tenants. A tenant may hold at most as much as is still free. So a single tenant gets at most half of
 * the total, a second one half of the rest, and so on: there is always something left for the next one.
 */
export class FairShare {
  readonly #total: number;
  readonly #held = new KeyCounts();

  /** 0: no limit. */
  constructor(total: number) {
    this.#total = total;
  }

  get taken(): number {
    return this.#held.total;
  }

  /** The number of tenants that hold something. */
  get tenants(): number {
    return this.#held.keys;
  }

  has(tenant: string, amount = 1): boolean {
    return this.#total === 0 || this.#held.of(tenant) + amount <= this.#total - this.#held.total;
  }

  /** Returns false and takes nothing if the tenant's share is exhausted. */
  take(tenant: string, amount = 1): boolean {
    if (!this.has(tenant, amount)) return false;
    this.#held.add(tenant, amount);
    return true;
  }

  giveBack(tenant: string, amount = 1): void {
    this.#held.add(tenant, -amount);
  }

  /** Takes one until the result is disposed. Returns undefined if the tenant's share is exhausted. */
  hold(tenant: string): Disposable | undefined {
    if (!this.take(tenant)) return undefined;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.giveBack(tenant);
        isHeld = false;
      },
    };
  }

  /** How much a tenant may hold now, if there is a limit. */
  mostOf(tenant: string): number {
    return Math.ceil((this.#total - this.#held.total + this.#held.of(tenant)) / 2);
  }
}
