import { BlockList, isIPv4, isIPv6 } from "node:net";

/** What no pod can have: an address of the machine itself, of the link, of a group, or of nobody. */
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
 * An address as one text whatever way it was written: IPv6 in its shortest form, an IPv4 address that travels inside an
 * IPv6 one as plain IPv4. Undefined when it is no address.
 */
export function normaliseIp(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // A zone names an interface of this machine: no pod is behind it.
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const short = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mapped = /^::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (mapped === null) return short;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Whether a Pod can have this address: whatever its status says, the router connects to no other. */
export function mayBePodIp(text: string): boolean {
  return parsePodIp(text, { allowLoopback: true }) !== undefined;
}

/** The address a caller gave for a pod, normalised; undefined when it is none a pod may have. */
export function parsePodIp(text: string, { allowLoopback }: { readonly allowLoopback: boolean }): string | undefined {
  const address = normaliseIp(text);
  if (address === undefined) return undefined;
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  if (neverPods.check(address, family)) return undefined;
  return !allowLoopback && loopback.check(address, family) ? undefined : address;
}
