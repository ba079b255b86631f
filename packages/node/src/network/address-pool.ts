import { NodeError } from "../errors.ts";
import { formatAddress, formatSubnet, parseAddress, type Subnet, sizeOf } from "./subnet.ts";

/**
 * Allocates the addresses of the Pod network. The addresses in use are not stored here: they are in the Pods' records,
 * and are claimed again when the node starts. A released address is reused as late as possible, so that a client of a deleted
 * sandbox does not reach another one.
 */
export class AddressPool {
  readonly gateway: string;
  readonly #subnet: Subnet;
  /** The namespace of the Pod that has an address. Empty if it is not known. */
  readonly #taken = new Map<number, string>();
  /** The address reserved for an owner, such as a Sandbox, also while it has no Pod. */
  readonly #reservations = new Map<string, number>();
  #next: number;

  constructor(subnet: Subnet) {
    this.#subnet = subnet;
    this.gateway = formatAddress(subnet.base + 1);
    this.#next = subnet.base + 2;
  }

  /** Marks the address of an existing Pod as in use. False if it is not in the network or already in use. */
  claim(address: string, namespace = ""): boolean {
    const value = parseAddress(address);
    if (value === undefined || value < this.#subnet.base + 2 || value > this.#last || this.#taken.has(value))
      return false;
    this.#taken.set(value, namespace);
    this.#next = Math.max(this.#next, value + 1);
    return true;
  }

  /**
   * Returns the address reserved for the owner if it is free. Otherwise it prefers an address that is not reserved, and
   * reserves it for the owner. A namespace never gets more addresses than are left for the others.
   */
  take({ owner, namespace = "" }: { readonly owner?: string | undefined; readonly namespace?: string } = {}): string {
    this.#checkShare(namespace);
    const reserved = owner === undefined ? undefined : this.#reservations.get(owner);
    if (reserved !== undefined && !this.#taken.has(reserved)) {
      this.#taken.set(reserved, namespace);
      return formatAddress(reserved);
    }
    const kept = new Set(this.#reservations.values());
    const value = this.#free((each) => !kept.has(each)) ?? this.#free(() => true);
    if (value === undefined) throw this.#full();
    this.#taken.set(value, namespace);
    this.#next = value + 1;
    for (const [other, address] of this.#reservations) if (address === value) this.#reservations.delete(other);
    if (owner !== undefined) this.#reservations.set(owner, value);
    return formatAddress(value);
  }

  /** The reserved address of each owner. */
  get reservations(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#reservations].map(([owner, value]) => [owner, formatAddress(value)]));
  }

  /** Restores reservations after a restart. Ignores values that are not addresses of this network. */
  remember(reservations: Readonly<Record<string, unknown>>): void {
    for (const [owner, address] of Object.entries(reservations)) {
      const value = typeof address === "string" ? parseAddress(address) : undefined;
      if (value !== undefined && value >= this.#subnet.base + 2 && value <= this.#last)
        this.#reservations.set(owner, value);
    }
  }

  /** Drops the reservations of owners that no longer exist. */
  forgetAllBut(owners: ReadonlySet<string>): void {
    for (const owner of this.#reservations.keys()) if (!owners.has(owner)) this.#reservations.delete(owner);
  }

  #free(fits: (value: number) => boolean): number | undefined {
    const first = this.#subnet.base + 2;
    const room = this.#last - first + 1;
    for (let tried = 0; tried < room; tried++) {
      const value = first + ((this.#next - first + tried) % room);
      if (!this.#taken.has(value) && fits(value)) return value;
    }
    return undefined;
  }

  #checkShare(namespace: string): void {
    if (namespace === "") return;
    const own = [...this.#taken.values()].filter((each) => each === namespace).length;
    if (own < this.size - this.#taken.size || own === 0) return;
    throw new NodeError(
      "SandboxError",
      `Cannot give the Pod an address: namespace "${namespace}" uses ${own} addresses of "${formatSubnet(this.#subnet)}", and the rest is reserved for other namespaces`,
    );
  }

  /** The number of Pods that can have an address. */
  get size(): number {
    return this.#last - this.#subnet.base - 1;
  }

  #full(): NodeError {
    return new NodeError(
      "SandboxError",
      `Cannot give the Pod an address: all ${this.size} addresses of "${formatSubnet(this.#subnet)}" are in use`,
    );
  }

  release(address: string): void {
    const value = parseAddress(address);
    if (value !== undefined) this.#taken.delete(value);
  }

  /** Four hex digits that are unique to the address. They become the suffix of the interface name. */
  suffix(address: string): string {
    return ((parseAddress(address) ?? 0) - this.#subnet.base).toString(16).padStart(4, "0");
  }

  /** The last address before the broadcast address. */
  get #last(): number {
    return this.#subnet.base + sizeOf(this.#subnet.prefix) - 2;
  }
}
