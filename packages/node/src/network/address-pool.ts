import { NodeError } from "../errors.ts";
import { formatAddress, formatSubnet, parseAddress, type Subnet, sizeOf } from "./subnet.ts";

/**
 * Which addresses of the Pods' network are taken. It keeps nothing on disk: each Pod's record holds the Pod's address,
 * and the pool is told about them at start. An address given back comes round again as late as possible, so that what
 * still talks to a dead sandbox does not reach another.
 */
export class AddressPool {
  readonly gateway: string;
  readonly #subnet: Subnet;
  /** The namespace of the Pod that has an address; empty when it is not known. */
  readonly #taken = new Map<number, string>();
  /** The address that belongs to an owner, such as a Sandbox, while it has no Pod too. */
  readonly #homes = new Map<string, number>();
  #next: number;

  constructor(subnet: Subnet) {
    this.#subnet = subnet;
    this.gateway = formatAddress(subnet.base + 1);
    this.#next = subnet.base + 2;
  }

  /** Marks the address of a Pod that is already there. False when it is foreign to the network or already taken. */
  claim(address: string, namespace = ""): boolean {
    const value = parseAddress(address);
    if (value === undefined || value < this.#subnet.base + 2 || value > this.#last || this.#taken.has(value))
      return false;
    this.#taken.set(value, namespace);
    this.#next = Math.max(this.#next, value + 1);
    return true;
  }

  /**
   * The owner's address, if it has had one and nobody else has it now; else one that belongs to nobody, if there is one. A
   * namespace never has more than are left for the others.
   */
  take({ owner, namespace = "" }: { readonly owner?: string | undefined; readonly namespace?: string } = {}): string {
    this.#checkShare(namespace);
    const home = owner === undefined ? undefined : this.#homes.get(owner);
    if (home !== undefined && !this.#taken.has(home)) {
      this.#taken.set(home, namespace);
      return formatAddress(home);
    }
    const kept = new Set(this.#homes.values());
    const value = this.#free((each) => !kept.has(each)) ?? this.#free(() => true);
    if (value === undefined) throw this.#full();
    this.#taken.set(value, namespace);
    this.#next = value + 1;
    for (const [other, address] of this.#homes) if (address === value) this.#homes.delete(other);
    if (owner !== undefined) this.#homes.set(owner, value);
    return formatAddress(value);
  }

  /** Whose address is which. */
  get homes(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#homes].map(([owner, value]) => [owner, formatAddress(value)]));
  }

  /** Takes up what was known before a restart; what is no address of this network is left out. */
  remember(homes: Readonly<Record<string, unknown>>): void {
    for (const [owner, address] of Object.entries(homes)) {
      const value = typeof address === "string" ? parseAddress(address) : undefined;
      if (value !== undefined && value >= this.#subnet.base + 2 && value <= this.#last) this.#homes.set(owner, value);
    }
  }

  /** Frees the addresses of owners that are no more. */
  forgetAllBut(owners: ReadonlySet<string>): void {
    for (const owner of this.#homes.keys()) if (!owners.has(owner)) this.#homes.delete(owner);
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
    if (own < this.#room - this.#taken.size || own === 0) return;
    throw new NodeError(
      "SandboxError",
      `Cannot give the Pod an address: namespace "${namespace}" has ${own} of "${formatSubnet(this.#subnet)}", and those that are left are for others`,
    );
  }

  get #room(): number {
    return this.#last - this.#subnet.base - 1;
  }

  #full(): NodeError {
    return new NodeError(
      "SandboxError",
      `Cannot give the Pod an address: all ${this.#room} of "${formatSubnet(this.#subnet)}" are taken`,
    );
  }

  release(address: string): void {
    const value = parseAddress(address);
    if (value !== undefined) this.#taken.delete(value);
  }

  /** Four hex digits that no other Pod has: the rest of its interface's name. */
  suffix(address: string): string {
    return ((parseAddress(address) ?? 0) - this.#subnet.base).toString(16).padStart(4, "0");
  }

  /** The last but the broadcast address. */
  get #last(): number {
    return this.#subnet.base + sizeOf(this.#subnet.prefix) - 2;
  }
}
