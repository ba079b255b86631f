import type { NetworkPolicy, NetworkPolicyIngressRule } from "@agent-sandbox/api";
import { isUnderstood, type LabelSelector, selects } from "./label-selector.ts";
import type { Allowance, Cluster, NetworkedPod } from "./policy.ts";
import { compilePorts, type PolicyPort, portsFor } from "./policy-ports.ts";
import { type Range, rangeOf, union, without } from "./ranges.ts";
import { parseAddress, parseSubnet } from "./subnet.ts";

/** A part of a policy that cannot be enforced as written. It is reported to the author as an event. */
export interface PolicyProblem {
  readonly policy: NetworkPolicy;
  readonly text: string;
}

/** A policy with everything resolved that does not depend on the selected Pod. */
export interface CompiledPolicy {
  readonly selects: (pod: NetworkedPod) => boolean;
  readonly hasNamedPorts: boolean;
  /** `undefined` if the policy does not apply to that direction. */
  readonly ingress: ((pod: NetworkedPod) => readonly Allowance[]) | undefined;
  readonly egress: readonly Allowance[] | undefined;
  readonly problems: readonly PolicyProblem[];
}

type Peer = NonNullable<NetworkPolicyIngressRule["from"]>[number];

const directions = ["Ingress", "Egress"];

/**
 * Compiles a policy. It fails closed: an invalid rule allows nothing, and a policy with an invalid `podSelector` selects all
 * Pods of its namespace.
 */
export function compilePolicy(policy: NetworkPolicy, cluster: Cluster): CompiledPolicy {
  const texts: string[] = [];
  const report = (text: string): void => void texts.push(text);
  const { metadata, spec } = policy;
  const selector = spec?.podSelector ?? {};
  const namespace = metadata?.namespace ?? "";
  const clear = isUnderstood(selector);
  if (!clear) report("podSelector: not understood, the policy selects all Pods of the namespace and allows nothing");
  const about = directionsOf(policy);
  const compiled = (rule: { peers?: readonly Peer[]; ports?: readonly PolicyPort[] }, path: string): CompiledRule => ({
    ports: compilePorts(rule.ports, path, report),
    peers: peersOf(rule.peers, { namespace, path, cluster, report }),
  });
  const ingress = (clear ? (spec?.ingress ?? []) : []).map(({ from, ports }, at) =>
    compiled({ ...(from && { peers: from }), ...(ports && { ports }) }, `ingress[${at}]`),
  );
  const egress = (clear ? (spec?.egress ?? []) : []).map(({ to, ports }, at) =>
    compiled({ ...(to && { peers: to }), ...(ports && { ports }) }, `egress[${at}]`),
  );
  return {
    selects: (pod) => !clear || selects(selector, pod.labels),
    hasNamedPorts: ingress.some(({ ports }) => ports?.some(({ name }) => name !== undefined)),
    ingress: about.includes("Ingress") ? (pod) => ingress.flatMap((rule) => receiving(rule, pod)) : undefined,
    egress: about.includes("Egress") ? egress.flatMap((rule) => sending(rule, cluster)) : undefined,
    problems: texts.map((text) => ({ policy, text })),
  };
}

/** The number of terms in a policy: selectors with their values, peers, exceptions and ports. */
export function termsOf({ spec }: NetworkPolicy): number {
  const rules = [...(spec?.ingress ?? []), ...(spec?.egress ?? [])];
  return rules.reduce((sum, rule) => sum + ruleTerms(rule), 1 + selectorTerms(spec?.podSelector));
}

function ruleTerms(rule: { from?: readonly Peer[]; to?: readonly Peer[]; ports?: readonly PolicyPort[] }): number {
  const peers = [...(rule.from ?? []), ...(rule.to ?? [])];
  return peers.reduce(
    (sum, { ipBlock, namespaceSelector, podSelector }) =>
      sum + 1 + (ipBlock?.except?.length ?? 0) + selectorTerms(namespaceSelector) + selectorTerms(podSelector),
    1 + (rule.ports?.length ?? 0),
  );
}

function selectorTerms(selector: LabelSelector | undefined): number {
  const expressions = selector?.matchExpressions ?? [];
  const values = expressions.reduce((sum, { values: each = [] }) => sum + 1 + each.length, 0);
  return Object.keys(selector?.matchLabels ?? {}).length + values;
}

/** Without `policyTypes`, a policy applies to ingress, and to egress if it has egress rules. An unknown type means both. */
function directionsOf({ spec }: NetworkPolicy): readonly string[] {
  const types = spec?.policyTypes ?? ["Ingress", ...(spec?.egress === undefined ? [] : ["Egress"])];
  return types.every((type) => directions.includes(type)) ? types : directions;
}

interface Peers {
  readonly pods: readonly NetworkedPod[];
  readonly addresses: readonly Range[];
}

interface CompiledRule {
  readonly ports: ReturnType<typeof compilePorts>;
  /** `undefined` for a rule without peers, which matches everybody. */
  readonly peers: Peers | undefined;
}

function receiving({ ports, peers }: CompiledRule, pod: NetworkedPod): Allowance[] {
  const allowed = portsFor(ports, pod.ports);
  return allowed?.length === 0 ? [] : [{ addresses: peers?.addresses, ports: allowed }];
}

/** A port name may be another number in each receiving Pod, so such a rule becomes one rule for each receiver. */
function sending({ ports, peers }: CompiledRule, cluster: Cluster): Allowance[] {
  if (!ports?.some(({ name }) => name !== undefined)) {
    const allowed = portsFor(ports, new Map());
    return allowed?.length === 0 ? [] : [{ addresses: peers?.addresses, ports: allowed }];
  }
  return (peers?.pods ?? cluster.pods).flatMap((receiver): Allowance[] => {
    const allowed = portsFor(ports, receiver.ports);
    return allowed?.length === 0 ? [] : [{ addresses: union([addressOf(receiver)]), ports: allowed }];
  });
}

interface PeerPlace {
  readonly namespace: string;
  readonly path: string;
  readonly cluster: Cluster;
  readonly report: (text: string) => void;
}

function peersOf(peers: readonly Peer[] | undefined, place: PeerPlace): Peers | undefined {
  if (peers === undefined || peers.length === 0) return undefined;
  const { cluster, path, report } = place;
  for (const [at, { namespaceSelector, podSelector }] of peers.entries()) {
    if ([namespaceSelector, podSelector].every((one) => one === undefined || isUnderstood(one))) continue;
    report(`${path}: the selector of peer ${at} is not understood, the peer matches nothing`);
  }
  const pods = cluster.pods.filter((pod) => peers.some((peer) => isPeer(peer, pod, place)));
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : blockRanges(ipBlock, path, report)));
  return { pods, addresses: union([...pods.map(addressOf), ...blocks]) };
}

function isPeer(peer: Peer, pod: NetworkedPod, { namespace, cluster }: PeerPlace): boolean {
  const { ipBlock, namespaceSelector, podSelector } = peer;
  if (ipBlock !== undefined || (namespaceSelector === undefined && podSelector === undefined)) return false;
  const inNamespace =
    namespaceSelector === undefined
      ? pod.namespace === namespace
      : selects(namespaceSelector, cluster.namespaces.get(pod.namespace) ?? {});
  return inNamespace && selects(podSelector ?? {}, pod.labels);
}

/** IPv6 blocks match nothing, because Pods have IPv4 only. A block with an invalid exception is empty. */
function blockRanges(
  { cidr, except = [] }: NonNullable<Peer["ipBlock"]>,
  path: string,
  report: (text: string) => void,
): Range[] {
  if (cidr.includes(":")) return [];
  const subnets = [cidr, ...except].map(parseSubnet);
  if (subnets.includes(undefined)) {
    report(`${path}: ipBlock "${cidr.slice(0, 64)}" or one of its exceptions is not understood, the block is empty`);
    return [];
  }
  const [whole, ...holes] = subnets.flatMap((subnet) => (subnet === undefined ? [] : [rangeOf(subnet)]));
  return whole === undefined ? [] : without(whole, holes);
}

function addressOf({ address }: NetworkedPod): Range {
  const value = parseAddress(address) ?? 0;
  return { from: value, to: value };
}
