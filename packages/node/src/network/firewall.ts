import type { AddressBlock, Allowance, PodPolicy, PortRange } from "./policy.ts";
import type { ServiceDoor } from "./services.ts";
import { parseSubnet } from "./subnet.ts";

export interface FirewallPlace {
  readonly table: string;
  readonly bridge: string;
  /** The Pods' network, such as `10.1.0.0/16`. */
  readonly subnet: string;
  readonly gateway: string;
  /** How the machine's ends of the Pods' links are called; the rest of a name says whose it is. */
  readonly linkPrefix: string;
  readonly linkOf: (address: string) => string;
}

export interface FirewallContent {
  readonly policies: readonly PodPolicy[];
  readonly doors: readonly ServiceDoor[];
}

/** Reached from a machine in a cloud, it gives away the machine's own credentials. */
const metadataNetwork = "169.254.0.0/16";

/** On packets to Services, and no others of ours. */
const translatedMark = "0x0a5b0000";

/**
 * The whole firewall as one transaction of `nft`: our own table is made anew, those of others are neither read nor
 * changed. Pods that are not in the list, because they are new or gone, neither send nor receive. The machine itself
 * reaches every Pod, as a node does; a Pod reaches nothing of the machine but its name service.
 */
export function firewall(place: FirewallPlace, content: FirewallContent): string {
  const { table } = place;
  return `${anew("inet", table)}
table inet ${table} {
${podSets(content.policies)}
${filterChains(place)}
${translationChains(place, content.doors)}
}
${anew("bridge", table)}
table bridge ${table} {
${linkChains(place, content.policies)}
}
`;
}

/** Deleting what is not there would fail, so it is made first. */
const anew = (family: string, table: string): string => `table ${family} ${table}\ndelete table ${family} ${table}`;

/** Who is on the network, and where to look up what each may do. */
function podSets(policies: readonly PodPolicy[]): string {
  const tenants = [...new Set(policies.map(({ namespace }) => namespace))];
  const ownTenant = ({ namespace }: PodPolicy): string => `jump tenant_${tenants.indexOf(namespace)}`;
  const ingress = policies.map((one) => verdict("ingress", one, ownTenant(one)));
  const egress = policies.map((one) => verdict("egress", one, "continue"));
  return [
    ...tenants.map((tenant, at) =>
      tenantRules(
        at,
        policies.filter(({ namespace }) => namespace === tenant),
      ),
    ),
    ...policies.flatMap((policy) => [
      ...chainOf("ingress", policy.address, policy.ingress),
      ...chainOf("egress", policy.address, policy.egress),
    ]),
    `  map ingress_of { type ipv4_addr : verdict; ${elements(ingress)} }`,
    `  map egress_of { type ipv4_addr : verdict; ${elements(egress)} }`,
    `  set pods { type ipv4_addr; ${elements(policies.map(({ address }) => address))} }`,
  ].join("\n");
}

const filterChains = ({ bridge, gateway }: FirewallPlace): string => `  chain input {
    type filter hook input priority -5; policy accept;
    iifname != "${bridge}" accept
    ct state established,related accept
    ip daddr ${gateway} udp dport 53 accept
    ip daddr ${gateway} tcp dport 53 accept
    drop
  }
  chain forward {
    type filter hook forward priority -5; policy accept;
    iifname != "${bridge}" oifname != "${bridge}" accept
    ct state established,related accept
    iifname "${bridge}" ip saddr != @pods drop
    iifname "${bridge}" meta nfproto != ipv4 drop
    iifname "${bridge}" ip daddr ${metadataNetwork} drop
    iifname "${bridge}" ip saddr vmap @egress_of
    iifname != "${bridge}" oifname "${bridge}" drop
    oifname "${bridge}" ip daddr != @pods drop
    oifname "${bridge}" ip daddr vmap @ingress_of
  }`;

const translationChains = (
  { bridge, subnet }: FirewallPlace,
  doors: readonly ServiceDoor[],
): string => `  chain services {
${doors
  .flatMap(doorRules)
  .map((rule) => `    ${rule}`)
  .join("\n")}
  }
  chain marks {
    type filter hook prerouting priority -150; policy accept;
    iifname "${bridge}" ct mark ${translatedMark} meta mark set ct mark
  }
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    iifname "${bridge}" jump services
  }
  chain output {
    type nat hook output priority -100; policy accept;
    jump services
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${subnet} oifname != "${bridge}" masquerade
  }`;

/**
 * A Pod speaks for its own address only, and to the machine only. But where the machine lets bridges call the rules for IP,
 * as it does for Docker and Kubernetes, what a Pod sends to a Service goes straight to the Pod behind it: such packets
 * carry a mark, and have been through the same rules.
 */
function linkChains({ linkPrefix, linkOf }: FirewallPlace, policies: readonly PodPolicy[]): string {
  const owners = policies.map(({ address }) => `"${linkOf(address)}" . ${address}`);
  return `  set owners { type ifname . ipv4_addr; ${elements(owners)} }
  chain prerouting {
    type filter hook prerouting priority 0; policy accept;
    iifname != "${linkPrefix}*" accept
    ether type ip iifname . ip saddr @owners accept
    ether type arp iifname . arp saddr ip @owners accept
    drop
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    iifname "${linkPrefix}*" oifname "${linkPrefix}*" meta mark != ${translatedMark} drop
  }`;
}

/**
 * Each new connection goes to one of the Pods behind the door, by chance: the first of them takes one in as many as there
 * are, the next one in those that are left, and so on. Without any it is dropped.
 */
function doorRules({ address, protocol, port, targets }: ServiceDoor): string[] {
  const match = `ip daddr ${address} ${protocol} dport ${port}`;
  if (targets.length === 0) return [`${match} drop`];
  return targets.map((target, at) => {
    const left = targets.length - at;
    const chance = left === 1 ? "" : `numgen random mod ${left} 0 `;
    return `${match} ${chance}meta mark set ${translatedMark} ct mark set ${translatedMark} dnat ip to ${target.address}:${target.port}`;
  });
}

const elements = (all: readonly string[]): string => (all.length === 0 ? "" : `elements = { ${all.join(", ")} };`);

/** What comes from the Pods of the same namespace may pass. */
function tenantRules(index: number, members: readonly PodPolicy[]): string {
  return `  set members_${index} { type ipv4_addr; ${elements(members.map(({ address }) => address))} }
  chain tenant_${index} {
    ip saddr @members_${index} return
    drop
  }`;
}

type Direction = "ingress" | "egress";

const nameOf = (direction: Direction, address: string): string => `${direction}_${address.replaceAll(".", "_")}`;

function verdict(direction: Direction, policy: PodPolicy, otherwise: string): string {
  const does = policy[direction] === undefined ? otherwise : `jump ${nameOf(direction, policy.address)}`;
  return `${policy.address} : ${does}`;
}

/** Comes back for what is allowed, and drops the rest. */
function chainOf(direction: Direction, address: string, allowances: readonly Allowance[] | undefined): string[] {
  if (allowances === undefined) return [];
  const rules = allowances.flatMap((one) => rulesOf(direction, one)).map((rule) => `    ${rule}return`);
  return [`  chain ${nameOf(direction, address)} {\n${[...rules, "    drop"].join("\n")}\n  }`];
}

function rulesOf(direction: Direction, { blocks, ports }: Allowance): string[] {
  const addresses = blocks?.flatMap((block) => addressMatch(direction, block)) ?? [""];
  const matches = ports?.map(portMatch) ?? [""];
  return addresses.flatMap((address) => matches.map((port) => `${address}${port}`));
}

/** Blocks of IPv6 are for networks that Pods here are not on. */
function addressMatch(direction: Direction, { cidr, except }: AddressBlock): string[] {
  if (parseSubnet(cidr) === undefined) return [];
  const side = direction === "ingress" ? "ip saddr" : "ip daddr";
  const holes = except.filter((hole) => parseSubnet(hole) !== undefined);
  return [`${side} ${cidr} ${holes.length === 0 ? "" : `${side} != { ${holes.join(", ")} } `}`];
}

function portMatch({ protocol, from, to = from }: PortRange): string {
  if (from === undefined) return `meta l4proto ${protocol} `;
  return `${protocol} dport ${from === to ? from : `${from}-${to}`} `;
}
