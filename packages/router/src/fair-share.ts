/**
 * A limit shared by tenants. A tenant may hold at most as much as is still free. So a single tenant gets at most half of
 * the total, a second one half of the rest, and so on: there is always something left for the next one.
 */
export class FairShare {
  readonly #total: number;
  readonly #byTenant = new Map<string, number>();
  #taken = 0;

  /** 0: no limit. */
  constructor(total: number) {
    this.#total = total;
  }

  get taken(): number {
    return this.#taken;
  }

  /** The number of tenants that hold something. */
  get tenants(): number {
    return this.#byTenant.size;
  }

  has(tenant: string, amount = 1): boolean {
    return this.#total === 0 || (this.#byTenant.get(tenant) ?? 0) + amount <= this.#total - this.#taken;
  }

  /** Returns false and takes nothing if the tenant's share is exhausted. */
  take(tenant: string, amount = 1): boolean {
    if (!this.has(tenant, amount)) return false;
    this.#taken += amount;
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + amount);
    return true;
  }

  giveBack(tenant: string, amount = 1): void {
    this.#taken -= amount;
    const left = (this.#byTenant.get(tenant) ?? 0) - amount;
    if (left > 0) this.#byTenant.set(tenant, left);
    else this.#byTenant.delete(tenant);
  }
}
