import { apiServerAddress, apiServerPort, serviceRange } from "@agent-sandbox/api";
import { reachesApiServer } from "./api-access.ts";
import { chainTexts } from "./firewall-chains.ts";
import type { PodPolicy } from "./policy.ts";
import { formatAddresses, type Range } from "./ranges.ts";
import type { ServiceAddress } from "./services.ts";

export interface FirewallPlace {
  readonly table: string;
  readonly bridge: string;
  /** The Pod network, such as `10.1.0.0/16`. */
  readonly subnet: string;
  readonly gateway: string;
  /** The prefix of the host interface names of the Pods' veth pairs. */
  readonly linkPrefix: string;
  readonly linkOf: (address: string) => string;
  readonly hardwareOf: (address: string) => string;
}

export interface FirewallContent {
  readonly policies: readonly PodPolicy[];
  readonly serviceAddresses: readonly ServiceAddress[];
  /** Networks within `serviceRange` that the machine has routes to. Its own packets to them are not redirected. */
  readonly routed: readonly Range[];
  /** The port of the machine that forwards to the API server. Undefined if Pods cannot reach it. */
  readonly apiPort?: number | undefined;
}

/** Clouds serve a machine's credentials on this network. */
const metadataNetwork = "169.254.0.0/16";

/** Mark of packets that were redirected to a Pod of a Service. */
const translatedMark = "0x0a5b0000";

/**
 * The whole firewall as one `nft` transaction. It replaces our own tables and neither reads nor changes others. Pods that
 * are not in the list, because they are new or deleted, can neither send nor receive. Root on the machine reaches every Pod,
 * as on a Kubernetes node, and other users reach none. A Pod reaches only the DNS server of the machine, and the API server if
 * `reachesApiServer` says so. The text contains
 * only numbers and our own names, never text that a tenant wrote.
 */
export function firewall(place: FirewallPlace, content: FirewallContent): string {
  const { table } = place;
  return `${replaced("inet", table)}
table inet ${table} {
${podSets(content.policies)}
${filterChains(place, content)}
${translationChains(place, content)}
}
${replaced("bridge", table)}
table bridge ${table} {
${linkChains(place, content.policies)}
}
`;
}

/** Deleting a missing table would fail, so it is created first. */
const replaced = (family: string, table: string): string => `table ${family} ${table}\ndelete table ${family} ${table}`;

/** The set of Pods, the chains with their rules, and the maps from each Pod to its chains. */
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
    `  set api_clients { type ipv4_addr; ${elements(policies.filter(reachesApiServer).map(({ address }) => address))} }`,
    `  set pods { type ipv4_addr; ${elements(policies.map(({ address }) => address))} }`,
  ].join("\n");
}

const filterChains = ({ bridge, gateway }: FirewallPlace, { apiPort }: FirewallContent): string => `  chain input {
    type filter hook input priority -5; policy accept;
    iifname != "${bridge}" accept
    icmp type redirect drop
    ct state established,related accept
    ip saddr != @pods drop
    ip daddr ${gateway} udp dport 53 accept
    ip daddr ${gateway} tcp dport 53 accept
${apiPort === undefined ? "" : `    ip saddr @api_clients ip daddr ${gateway} tcp dport ${apiPort} accept\n`}    drop
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
  { bridge, subnet, gateway }: FirewallPlace,
  { serviceAddresses, routed, apiPort }: FirewallContent,
): string => `${serviceAddresses.map(redirectChain).join("\n")}
  map services { type ipv4_addr . inet_proto . inet_service : verdict; ${elements(serviceAddresses.map(redirectElement))} }
  chain marks {
    type filter hook prerouting priority -150; policy accept;
    iifname "${bridge}" ct mark ${translatedMark} meta mark set ct mark
  }
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
${apiPort === undefined ? "" : `    iifname "${bridge}" ip saddr @api_clients ip daddr ${apiServerAddress} tcp dport ${apiServerPort} dnat ip to ${gateway}:${apiPort}\n`}    iifname "${bridge}" ip daddr . meta l4proto . th dport vmap @services
  }
  chain output {
    type nat hook output priority -100; policy accept;
${routed.length === 0 ? "" : `    ip daddr { ${routed.map(formatAddresses).join(", ")} } accept\n`}    meta skuid != 0 accept
    ip daddr . meta l4proto . th dport vmap @services
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${subnet} oifname != "${bridge}" masquerade
  }`;

/**
 * A Pod may send only with its own IP and hardware address, and only to the machine, not to other ports of the bridge. With
 * `bridge-nf-call-iptables`, which Docker and Kubernetes enable, packets to a Service are forwarded by the bridge directly to
 * the Pod of the Service. Such packets carry the mark, and have passed the same IP rules.
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

const redirectElement = ({ address, protocol, port }: ServiceAddress, at: number): string =>
  `${address} . ${protocol} . ${port} : jump service_${at}`;

/**
 * Redirects each new connection to a random Pod of the Service: the first of n Pods gets 1/n of them, the next 1/(n-1) of
 * the rest, and so on. Without Pods, the connection is dropped.
 */
function redirectChain({ protocol, targets }: ServiceAddress, at: number): string {
  const rules = targets.map((target, index) => {
    const left = targets.length - index;
    const chance = left === 1 ? "" : `numgen random mod ${left} 0 `;
    return `meta l4proto ${protocol} ${chance}meta mark set ${translatedMark} ct mark set ${translatedMark} dnat ip to ${target.address}:${target.port}`;
  });
  const all = rules.length === 0 ? ["drop"] : rules;
  return `  chain service_${at} {\n${all.map((rule) => `    ${rule}`).join("\n")}\n  }`;
}

const elements = (all: readonly string[]): string => (all.length === 0 ? "" : `elements = { ${all.join(", ")} };`);

/** The default for ingress: allow packets from Pods of the same namespace. */
function tenantRules(index: number, members: readonly PodPolicy[]): string {
  return `  set members_${index} { type ipv4_addr; ${elements(members.map(({ address }) => address))} }
  chain tenant_${index} {
    ip saddr @members_${index} return
    drop
  }`;
}
