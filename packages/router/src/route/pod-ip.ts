import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Addresses that no pod has: unspecified, link-local and multicast. */
const neverPods = new BlockList();
neverPods.addSubnet("0.0.0.0", 32, "ipv4");
neverPods.addSubnet("169.254.0.0", 16, "ipv4");
neverPods.addSubnet("224.0.0.0", 4, "ipv4");
neverPods.addAddress("::", "ipv6");
neverPods.addSubnet("fe80::", 10, "ipv6");
neverPods.addSubnet("ff00::", 8, "ipv6");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * The canonical form of an address: IPv6 in its shortest form, IPv4-mapped IPv6 as IPv4. Undefined if the text is not an
 * address.
 */
export function normaliseIp(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // An address with a zone is link-local.
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const short = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mapped = /^::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (mapped === null) return short;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Whether a pod may have this address. The router connects to no other, whatever the Pod's status says. */
export function mayBePodIp(text: string): boolean {
  return parsePodIp(text, { allowLoopback: true }) !== undefined;
}

/** The canonical form of a pod address that a client sent. Undefined if no pod may have it. */
export function parsePodIp(text: string, { allowLoopback }: { readonly allowLoopback: boolean }): string | undefined {
  const address = normaliseIp(text);
  if (address === undefined) return undefined;
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  if (neverPods.check(address, family)) return undefined;
  return !allowLoopback && loopback.check(address, family) ? undefined : address;
}
