import { BlockList, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/** The machine's addresses, and the networks of Pods on it. */
export interface OwnNetworks {
  readonly addresses: readonly string[];
  /** `10.1.0.0/16`. */
  readonly networks: readonly string[];
}

/** Loopback, link-local (where clouds serve a machine's credentials), multicast and reserved ranges. */
const neverIpv4 = ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"];
/** Kubernetes' default range of Service addresses. */
const services = "10.96.0.0/12";
/** Teredo and 6to4, whose addresses contain an IPv4 address. */
const embedding = ["2001::/32", "2002::/16"];

/**
 * Whether pulls may connect to an address that the operator has not configured. Only addresses that a Pod could reach are
 * allowed: never this machine, loopback, link-local addresses, Pods or Services, and of IPv6 only global unicast addresses.
 */
export function isReachable(address: string, own: OwnNetworks): boolean {
  const blocked = new BlockList();
  for (const network of [...neverIpv4, services, ...own.networks.filter(isIpv4Network)]) add(blocked, network, "ipv4");
  for (const one of own.addresses.filter(isIPv4)) blocked.addAddress(one, "ipv4");
  if (isIPv4(address)) return !blocked.check(address, "ipv4");
  if (!isIPv6(address)) return false;
  const global = new BlockList();
  global.addSubnet("2000::", 3, "ipv6");
  for (const network of [...embedding, ...own.networks.filter((one) => !isIpv4Network(one))])
    add(blocked, network, "ipv6");
  for (const one of own.addresses.filter(isIPv6)) blocked.addAddress(one, "ipv6");
  return global.check(address, "ipv6") && !blocked.check(address, "ipv6");
}

const isIpv4Network = (network: string): boolean => network.includes(".");

function add(list: BlockList, network: string, family: "ipv4" | "ipv6"): void {
  const [address = "", prefix] = network.split("/");
  list.addSubnet(address, Number(prefix), family);
}

/** The bridge of this node or of another node on this machine. */
const anyBridge = /^asb[0-9a-f]{8}$/;

/** Read each time, because interfaces change. */
export function ownNetworks(): OwnNetworks {
  const all = Object.entries(networkInterfaces()).flatMap(([name, found = []]) =>
    found.map(({ address, cidr }) => ({ name, address: address.replace(/%.*$/, ""), cidr })),
  );
  return {
    addresses: all.map(({ address }) => address),
    networks: all.flatMap(({ name, cidr }) => (anyBridge.test(name) && cidr !== null ? [cidr] : [])),
  };
}
