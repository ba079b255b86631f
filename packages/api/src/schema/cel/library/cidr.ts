import { Ip, parseIp, toIp } from "./ip.ts";
import type { Library } from "./library.ts";

/** A network: an address and a prefix length. */
export class Cidr {
  readonly address: Ip;
  readonly length: number;

  constructor(address: Ip, length: number) {
    this.address = address;
    this.length = length;
  }

  masked(): Cidr {
    const rest = BigInt(this.address.width - this.length);
    return new Cidr(new Ip((this.address.bits >> rest) << rest, this.address.family), this.length);
  }

  contains({ bits, family }: Ip): boolean {
    const rest = BigInt(this.address.width - this.length);
    return family === this.address.family && bits >> rest === this.address.bits >> rest;
  }

  containsAll({ address, length }: Cidr): boolean {
    return this.length <= length && this.contains(address);
  }

  equals(other: unknown): boolean {
    return other instanceof Cidr && other.length === this.length && other.address.equals(this.address);
  }

  toString(): string {
    return `${this.address.toString()}/${this.length}`;
  }
}

function parseCidr(text: string): Cidr | undefined {
  const slash = text.lastIndexOf("/");
  const address = parseIp(text.slice(0, Math.max(0, slash)));
  const length = text.slice(slash + 1);
  if (slash < 0 || address === undefined || !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  return Number(length) <= address.width ? new Cidr(address, Number(length)) : undefined;
}

function toCidr(text: string): Cidr {
  const found = parseCidr(text);
  if (found === undefined) {
    throw new Error(`network address parse error during conversion from string: ${JSON.stringify(text.slice(0, 64))}`);
  }
  return found;
}

export const cidr: Library = {
  types: { "net.CIDR": Cidr },
  equals: { "net.CIDR": (a: Cidr, b: Cidr) => a.equals(b) },
  functions: {
    "cidr(string): net.CIDR": toCidr,
    "isCIDR(string): bool": (text: string) => parseCidr(text) !== undefined,
    "string(net.CIDR): string": String,
    "net.CIDR.containsIP(string): bool": (network: Cidr, text: string) => network.contains(toIp(text)),
    "net.CIDR.containsIP(net.IP): bool": (network: Cidr, address: Ip) => network.contains(address),
    "net.CIDR.containsCIDR(string): bool": (network: Cidr, text: string) => network.containsAll(toCidr(text)),
    "net.CIDR.containsCIDR(net.CIDR): bool": (network: Cidr, other: Cidr) => network.containsAll(other),
    "net.CIDR.ip(): net.IP": ({ address }: Cidr) => address,
    "net.CIDR.prefixLength(): int": ({ length }: Cidr) => BigInt(length),
    "net.CIDR.masked(): net.CIDR": (network: Cidr) => network.masked(),
  },
};
