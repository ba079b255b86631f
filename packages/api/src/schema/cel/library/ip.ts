import type { Library } from "./library.ts";

/** An address as a number of 32 or 128 bits. */
export class Ip {
  readonly bits: bigint;
  readonly family: 4 | 6;

  constructor(bits: bigint, family: 4 | 6) {
    this.bits = bits;
    this.family = family;
  }

  get width(): number {
    return this.family === 4 ? 32 : 128;
  }

  equals(other: unknown): boolean {
    return other instanceof Ip && other.family === this.family && other.bits === this.bits;
  }

  /** Whether its first `length` bits are those of the given address. */
  startsLike(address: string, length: number): boolean {
    const other = parseIp(address);
    if (other === undefined || other.family !== this.family) return false;
    const rest = BigInt(this.width - length);
    return other.bits >> rest === this.bits >> rest;
  }

  toString(): string {
    return this.family === 4 ? dotted(this.bits) : colons(this.bits);
  }
}

const dotted = (bits: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join(".");

/** RFC 5952: the longest run of zeros is replaced by `::`. */
function colons(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) => ((bits >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
  const text = groups.join(":");
  const runs = text.match(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g) ?? [];
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "");
  if (longest === "") return text;
  const at = text.search(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`));
  return `${text.slice(0, at).replace(/:$/, "")}::${text.slice(at + longest.length).replace(/^:/, "")}`;
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split(".");
  const fits = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  return fits ? parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n) : undefined;
}

function parseIpv6(text: string): bigint | undefined {
  const [, head = text, tail] = /^([^.]*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text) ?? [];
  const last = tail === undefined ? undefined : parseIpv4(tail);
  if (tail !== undefined && last === undefined) return undefined;
  const whole = last === undefined ? head : `${head}${(last >> 16n).toString(16)}:${(last & 0xffffn).toString(16)}`;
  const halves = whole.split("::");
  if (halves.length > 2) return undefined;
  const [left = [], right] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - left.length - (right?.length ?? 0);
  if (right === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...(right ?? [])];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

/** Longer than any address. */
const longest = 64;

/** Like Kubernetes, refuses zones and IPv4-mapped IPv6 addresses. */
export function parseIp(text: string): Ip | undefined {
  if (text.length > longest) return undefined;
  if (!text.includes(":")) {
    const bits = parseIpv4(text);
    return bits === undefined ? undefined : new Ip(bits, 4);
  }
  const bits = parseIpv6(text);
  return bits === undefined || bits >> 32n === 0xffffn ? undefined : new Ip(bits, 6);
}

export function toIp(text: string): Ip {
  const ip = parseIp(text);
  if (ip === undefined) {
    throw new Error(`IP Address ${JSON.stringify(text.slice(0, longest))} parse error during conversion from string`);
  }
  return ip;
}

const isUnspecified = (ip: Ip): boolean => ip.bits === 0n;
const isLoopback = (ip: Ip): boolean => ip.startsLike("127.0.0.0", 8) || ip.startsLike("::1", 128);
const isLinkLocal = (ip: Ip): boolean => ip.startsLike("169.254.0.0", 16) || ip.startsLike("fe80::", 10);
const isMulticast = (ip: Ip): boolean => ip.startsLike("224.0.0.0", 4) || ip.startsLike("ff00::", 8);
const isBroadcast = (ip: Ip): boolean => ip.startsLike("255.255.255.255", 32);

/** `ff02::/16` with any flags. */
const isLinkLocalMulticast = (ip: Ip): boolean =>
  ip.startsLike("224.0.0.0", 24) || (ip.startsLike("ff00::", 8) && ((ip.bits >> 112n) & 0xfn) === 2n);

export const ip: Library = {
  types: { "net.IP": Ip },
  namespaces: ["ip"],
  equals: { "net.IP": (a: Ip, b: Ip) => a.equals(b) },
  functions: {
    "ip(string): net.IP": toIp,
    "isIP(string): bool": (text: string) => parseIp(text) !== undefined,
    "namespace.ip.isCanonical(string): bool": (_: unknown, text: string) => toIp(text).toString() === text,
    "string(net.IP): string": String,
    "net.IP.family(): int": ({ family }: Ip) => BigInt(family),
    "net.IP.isUnspecified(): bool": isUnspecified,
    "net.IP.isLoopback(): bool": isLoopback,
    "net.IP.isLinkLocalMulticast(): bool": isLinkLocalMulticast,
    "net.IP.isLinkLocalUnicast(): bool": isLinkLocal,
    "net.IP.isGlobalUnicast(): bool": (address: Ip) =>
      ![isUnspecified, isLoopback, isLinkLocal, isMulticast, isBroadcast].some((not) => not(address)),
  },
};
