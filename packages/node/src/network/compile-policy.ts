import type { NetworkPolicy, NetworkPolicyIngressRule } from "@agent-sandbox/api";
import { isUnderstood, type LabelSelector, selects } from "./label-selector.ts";
import type { Allowance, Cluster, NetworkedPod } from "./policy.ts";
import { compilePorts, type PolicyPort, portsFor } from "./policy-ports.ts";
import { type Range, rangeOf, union, without } from "./ranges.ts";
import { parseAddress, parseSubnet } from "./subnet.ts";

/** What of a policy could not be enforced as it is written, for its author. */
export interface PolicyProblem {
  readonly policy: NetworkPolicy;
  readonly text: string;
}

/** A policy with everything looked up that does not depend on the Pod it is for. */
export interface CompiledPolicy {
  readonly selects: (pod: NetworkedPod) => boolean;
  readonly hasNamedPorts: boolean;
  /** `undefined` when the policy is not about that direction. */
  readonly ingress: ((pod: NetworkedPod) => readonly Allowance[]) | undefined;
  readonly egress: readonly Allowance[] | undefined;
  readonly problems: readonly PolicyProblem[];
}

type Peer = NonNullable<NetworkPolicyIngressRule["from"]>[number];

const directions = ["Ingress", "Egress"];

/**
 * Reads a policy. What is not understood allows nothing, and a policy that does not say for whom it is counts for all Pods
 * of its namespace: what somebody meant to close stays closed.
 */
export function compilePolicy(policy: NetworkPolicy, cluster: Cluster): CompiledPolicy {
  const texts: string[] = [];
  const note = (text: string): void => void texts.push(text);
  const { metadata, spec } = policy;
  const selector = spec?.podSelector ?? {};
  const namespace = metadata?.namespace ?? "";
  const clear = isUnderstood(selector);
  if (!clear) note("podSelector: not understood, the policy allows nothing and is for all Pods of the namespace");
  const about = directionsOf(policy);
  const compiled = (rule: { peers?: readonly Peer[]; ports?: readonly PolicyPort[] }, path: string): CompiledRule => ({
    ports: compilePorts(rule.ports, path, note),
    peers: peersOf(rule.peers, { namespace, path, cluster, note }),
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

/** How much there is to read in a policy: selectors with their values, peers, exceptions and ports. */
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

/** A policy that does not say is about what comes in, and about what goes out if it has rules for that. */
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
  /** `undefined` for everybody: a rule without peers. */
  readonly peers: Peers | undefined;
}

function receiving({ ports, peers }: CompiledRule, pod: NetworkedPod): Allowance[] {
  const allowed = portsFor(ports, pod.ports);
  return allowed?.length === 0 ? [] : [{ addresses: peers?.addresses, ports: allowed }];
}

/** A named port is another number on each receiver: such rules become one for each. */
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
  readonly note: (text: string) => void;
}

function peersOf(peers: readonly Peer[] | undefined, place: PeerPlace): Peers | undefined {
  if (peers === undefined || peers.length === 0) return undefined;
  const { cluster, path, note } = place;
  for (const [at, { namespaceSelector, podSelector }] of peers.entries()) {
    if ([namespaceSelector, podSelector].every((one) => one === undefined || isUnderstood(one))) continue;
    note(`${path}: the selector of peer ${at} is not understood, the peer is nobody`);
  }
  const pods = cluster.pods.filter((pod) => peers.some((peer) => isPeer(peer, pod, place)));
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : blockRanges(ipBlock, path, note)));
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

/** Blocks of IPv6 are for networks that Pods here are not on. A block with an unclear exception is no block. */
function blockRanges(
  { cidr, except = [] }: NonNullable<Peer["ipBlock"]>,
  path: string,
  note: (text: string) => void,
): Range[] {
  if (cidr.includes(":")) return [];
  const subnets = [cidr, ...except].map(parseSubnet);
  if (subnets.includes(undefined)) {
    note(`${path}: ipBlock "${cidr.slice(0, 64)}" or one of its exceptions is not understood, the block is empty`);
    return [];
  }
  const [whole, ...holes] = subnets.flatMap((subnet) => (subnet === undefined ? [] : [rangeOf(subnet)]));
  return whole === undefined ? [] : without(whole, holes);
}

function addressOf({ address }: NetworkedPod): Range {
  const value = parseAddress(address) ?? 0;
  return { from: value, to: value };
}
