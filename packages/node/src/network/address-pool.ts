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
  readonly #taken = new Set<number>();
  #next: number;

  constructor(subnet: Subnet) {
    this.#subnet = subnet;
    this.gateway = formatAddress(subnet.base + 1);
    this.#next = subnet.base + 2;
  }

  /** Marks the address of a Pod that is already there. False when it is foreign to the network or already taken. */
  claim(address: string): boolean {
    const value = parseAddress(address);
    if (value === undefined || value < this.#subnet.base + 2 || value > this.#last || this.#taken.has(value))
      return false;
    this.#taken.add(value);
    this.#next = Math.max(this.#next, value + 1);
    return true;
  }

  take(): string {
    const first = this.#subnet.base + 2;
    const room = this.#last - first + 1;
    for (let tried = 0; tried < room; tried++) {
      const value = first + ((this.#next - first + tried) % room);
      if (this.#taken.has(value)) continue;
      this.#taken.add(value);
      this.#next = value + 1;
      return formatAddress(value);
    }
    throw new NodeError(
      "SandboxError",
      `Cannot give the Pod an address: all ${room} of "${formatSubnet(this.#subnet)}" are taken`,
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
