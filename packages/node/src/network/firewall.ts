import { serviceRange } from "@agent-sandbox/api";
import { chainTexts } from "./firewall-chains.ts";
import type { PodPolicy } from "./policy.ts";
import { formatAddresses, type Range } from "./ranges.ts";
import type { ServiceDoor } from "./services.ts";

export interface FirewallPlace {
  readonly table: string;
  readonly bridge: string;
  /** The Pods' network, such as `10.1.0.0/16`. */
  readonly subnet: string;
  readonly gateway: string;
  /** How the machine's ends of the Pods' links are called; the rest of a name says whose it is. */
  readonly linkPrefix: string;
  readonly linkOf: (address: string) => string;
  readonly hardwareOf: (address: string) => string;
}

export interface FirewallContent {
  readonly policies: readonly PodPolicy[];
  readonly doors: readonly ServiceDoor[];
  /** Networks within `serviceRange` that the machine has routes to: its own packets there are not redirected. */
  readonly routed: readonly Range[];
}

/** Reached from a machine in a cloud, it gives away the machine's own credentials. */
const metadataNetwork = "169.254.0.0/16";

/** On packets to Services, and no others of ours. */
const translatedMark = "0x0a5b0000";

/**
 * The whole firewall as one transaction of `nft`: our own table is made anew, those of others are neither read nor
 * changed. Pods that are not in the list, because they are new or gone, neither send nor receive. The machine's root
 * reaches every Pod, as a node does, and its other users reach none; a Pod reaches nothing of the machine but its name
 * service. Only numbers, and names of our own, become text: nothing that a tenant wrote.
 */
export function firewall(place: FirewallPlace, content: FirewallContent): string {
  const { table } = place;
  return `${anew("inet", table)}
table inet ${table} {
${podSets(content.policies)}
${filterChains(place)}
${translationChains(place, content)}
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
  const tenants = [...Map.groupBy(policies, ({ namespace }) => namespace)];
  const indexes = new Map(tenants.map(([namespace], at) => [namespace, at]));
  const ingress = chainTexts("ingress", policies, ({ namespace }) => `jump tenant_${indexes.get(namespace)}`);
  const egress = chainTexts("egress", policies, () => "continue");
  return [
    ...tenants.map(([, members], at) => tenantRules(at, members)),
    ...ingress.chains,
    ...egress.chains,
    `  map ingress_of { type ipv4_addr : verdict; ${elements(ingress.verdicts)} }`,
    `  map egress_of { type ipv4_addr : verdict; ${elements(egress.verdicts)} }`,
    `  set pods { type ipv4_addr; ${elements(policies.map(({ address }) => address))} }`,
  ].join("\n");
}

const filterChains = ({ bridge, gateway }: FirewallPlace): string => `  chain input {
    type filter hook input priority -5; policy accept;
    iifname != "${bridge}" accept
    icmp type redirect drop
    ct state established,related accept
    ip saddr != @pods drop
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
    iifname "${bridge}" ip daddr { ${metadataNetwork}, ${serviceRange} } drop
    iifname "${bridge}" ip saddr vmap @egress_of
    iifname != "${bridge}" oifname "${bridge}" drop
    oifname "${bridge}" ip daddr != @pods drop
    oifname "${bridge}" ip daddr vmap @ingress_of
  }
  chain local {
    type filter hook output priority 0; policy accept;
    oifname "${bridge}" meta skuid != 0 drop
  }`;

const translationChains = (
  { bridge, subnet }: FirewallPlace,
  { doors, routed }: FirewallContent,
): string => `${doors.map(doorChain).join("\n")}
  map doors { type ipv4_addr . inet_proto . inet_service : verdict; ${elements(doors.map(doorElement))} }
  chain marks {
    type filter hook prerouting priority -150; policy accept;
    iifname "${bridge}" ct mark ${translatedMark} meta mark set ct mark
  }
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    iifname "${bridge}" ip daddr . meta l4proto . th dport vmap @doors
  }
  chain output {
    type nat hook output priority -100; policy accept;
${routed.length === 0 ? "" : `    ip daddr { ${routed.map(formatAddresses).join(", ")} } accept\n`}    meta skuid != 0 accept
    ip daddr . meta l4proto . th dport vmap @doors
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${subnet} oifname != "${bridge}" masquerade
  }`;

/**
 * A Pod speaks for its own address only, both of IP and of the link, and to the machine only. But where the machine lets
 * bridges call the rules for IP, as it does for Docker and Kubernetes, what a Pod sends to a Service goes straight to the
 * Pod behind it: such packets carry a mark, and have been through the same rules.
 */
function linkChains({ linkPrefix, linkOf, hardwareOf }: FirewallPlace, policies: readonly PodPolicy[]): string {
  const owners = policies.map(({ address }) => `"${linkOf(address)}" . ${hardwareOf(address)} . ${address}`);
  return `  set owners { type ifname . ether_addr . ipv4_addr; ${elements(owners)} }
  chain prerouting {
    type filter hook prerouting priority 0; policy accept;
    iifname != "${linkPrefix}*" accept
    ether type ip iifname . ether saddr . ip saddr @owners accept
    ether type arp iifname . ether saddr . arp saddr ip @owners iifname . arp saddr ether . arp saddr ip @owners accept
    drop
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    iifname "${linkPrefix}*" oifname "${linkPrefix}*" meta mark != ${translatedMark} drop
  }`;
}

const doorElement = ({ address, protocol, port }: ServiceDoor, at: number): string =>
  `${address} . ${protocol} . ${port} : jump door_${at}`;

/**
 * Each new connection goes to one of the Pods behind the door, by chance: the first of them takes one in as many as there
 * are, the next one in those that are left, and so on. Without any it is dropped.
 */
function doorChain({ protocol, targets }: ServiceDoor, at: number): string {
  const rules = targets.map((target, index) => {
    const left = targets.length - index;
    const chance = left === 1 ? "" : `numgen random mod ${left} 0 `;
    return `meta l4proto ${protocol} ${chance}meta mark set ${translatedMark} ct mark set ${translatedMark} dnat ip to ${target.address}:${target.port}`;
  });
  const all = rules.length === 0 ? ["drop"] : rules;
  return `  chain door_${at} {\n${all.map((rule) => `    ${rule}`).join("\n")}\n  }`;
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
