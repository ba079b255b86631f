/**
 * Something that several tenants share, up to `most` of it in all. Nobody gets more than is still free: a greedy tenant has
 * half of it at most, and there is always as much left for the next one as that one may take.
 */
export class FairShare {
  readonly #most: number;
  readonly #byTenant = new Map<string, number>();
  #taken = 0;

  /** 0: as much as anybody wants. */
  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  /** How many tenants have something. */
  get tenants(): number {
    return this.#byTenant.size;
  }

  has(tenant: string, amount = 1): boolean {
    return this.#most === 0 || (this.#byTenant.get(tenant) ?? 0) + amount <= this.#most - this.#taken;
  }

  /** False when the tenant has its share already; then nothing is taken. */
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
