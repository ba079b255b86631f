import type { NetworkPolicy, NetworkPolicyIngressRule } from "@agent-sandbox/api";
import { type Labels, selects } from "./label-selector.ts";

/** A Pod on the network, as policies see it. */
export interface NetworkedPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly address: string;
  /** Numbers of the ports that have names. */
  readonly ports: ReadonlyMap<string, number>;
}

export interface Cluster {
  readonly pods: readonly NetworkedPod[];
  readonly policies: readonly NetworkPolicy[];
  /** The labels of each namespace. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}

export interface AddressBlock {
  readonly cidr: string;
  readonly except: readonly string[];
}

export interface PortRange {
  readonly protocol: "tcp" | "udp" | "sctp";
  /** Absent: all ports. */
  readonly from?: number;
  readonly to?: number;
}

/** What may pass: from or to these addresses, at these ports; `undefined` stands for all of them. */
export interface Allowance {
  readonly blocks: readonly AddressBlock[] | undefined;
  readonly ports: readonly PortRange[] | undefined;
}

/**
 * What a Pod may receive from other Pods, and send. Where no policy says anything, `undefined`, it receives from its own
 * namespace, which is one tenant's, and sends to everybody who receives it.
 */
export interface PodPolicy {
  readonly address: string;
  readonly namespace: string;
  readonly ingress: readonly Allowance[] | undefined;
  readonly egress: readonly Allowance[] | undefined;
}

/** What the policies together mean for each Pod: what one of them allows is allowed. */
export function policiesOf(cluster: Cluster): PodPolicy[] {
  return cluster.pods.map((pod) => {
    const own = cluster.policies.filter(
      ({ metadata, spec }) => metadata?.namespace === pod.namespace && selects(spec?.podSelector, pod.labels),
    );
    const inward = own.filter((policy) => directionsOf(policy).includes("Ingress"));
    const outward = own.filter((policy) => directionsOf(policy).includes("Egress"));
    return {
      address: pod.address,
      namespace: pod.namespace,
      ingress: inward.length === 0 ? undefined : inward.flatMap((policy) => ingressOf(policy, pod, cluster)),
      egress: outward.length === 0 ? undefined : outward.flatMap((policy) => egressOf(policy, cluster)),
    };
  });
}

/** A policy that does not say is about what comes in, and about what goes out if it has rules for that. */
function directionsOf({ spec }: NetworkPolicy): readonly string[] {
  return spec?.policyTypes ?? ["Ingress", ...(spec?.egress === undefined ? [] : ["Egress"])];
}

function ingressOf({ metadata, spec }: NetworkPolicy, pod: NetworkedPod, cluster: Cluster): Allowance[] {
  return (spec?.ingress ?? []).flatMap(({ from, ports }) => {
    const peers = peersOf(from, metadata?.namespace ?? "", cluster);
    const allowed = portsOf(ports, pod.ports);
    return allowed?.length === 0 ? [] : [{ blocks: peers && blocksOf(peers), ports: allowed }];
  });
}

/** A named port is another number on each receiver: such rules become one for each. */
function egressOf({ metadata, spec }: NetworkPolicy, cluster: Cluster): Allowance[] {
  return (spec?.egress ?? []).flatMap(({ to, ports }) => {
    const peers = peersOf(to, metadata?.namespace ?? "", cluster);
    if (!ports?.some(({ port }) => typeof port === "string")) {
      return [{ blocks: peers && blocksOf(peers), ports: portsOf(ports, new Map()) }];
    }
    const receivers = peers?.pods ?? cluster.pods;
    return receivers.flatMap((receiver): Allowance[] => {
      const allowed = portsOf(ports, receiver.ports);
      return allowed?.length === 0 ? [] : [{ blocks: [blockOf(receiver)], ports: allowed }];
    });
  });
}

interface Peers {
  readonly pods: readonly NetworkedPod[];
  readonly blocks: readonly AddressBlock[];
}

type NetworkPolicyPort = NonNullable<NetworkPolicyIngressRule["ports"]>[number];
type Peer = NonNullable<NetworkPolicyIngressRule["from"]>[number];

/** `undefined` for everybody: a rule without peers. */
function peersOf(peers: readonly Peer[] | undefined, namespace: string, cluster: Cluster): Peers | undefined {
  if (peers === undefined || peers.length === 0) return undefined;
  return {
    pods: cluster.pods.filter((pod) => peers.some((peer) => isPeer(peer, pod, namespace, cluster))),
    blocks: peers.flatMap(({ ipBlock }) =>
      ipBlock === undefined ? [] : [{ cidr: ipBlock.cidr, except: ipBlock.except ?? [] }],
    ),
  };
}

function isPeer(peer: Peer, pod: NetworkedPod, namespace: string, { namespaces }: Cluster): boolean {
  const { ipBlock, namespaceSelector, podSelector } = peer;
  if (ipBlock !== undefined || (namespaceSelector === undefined && podSelector === undefined)) return false;
  const inNamespace =
    namespaceSelector === undefined
      ? pod.namespace === namespace
      : selects(namespaceSelector, namespaces.get(pod.namespace) ?? {});
  return inNamespace && selects(podSelector ?? {}, pod.labels);
}

const blocksOf = ({ pods, blocks }: Peers): AddressBlock[] => [...pods.map(blockOf), ...blocks];

const blockOf = ({ address }: NetworkedPod): AddressBlock => ({ cidr: `${address}/32`, except: [] });

/** `undefined` for all ports; empty when none of the named ports exists here. */
function portsOf(
  ports: readonly NetworkPolicyPort[] | undefined,
  named: ReadonlyMap<string, number>,
): PortRange[] | undefined {
  if (ports === undefined || ports.length === 0) return undefined;
  return ports.flatMap(({ protocol = "TCP", port, endPort }): PortRange[] => {
    const range = { protocol: protocol.toLowerCase() as PortRange["protocol"] };
    if (port === undefined) return [range];
    const from = typeof port === "number" ? port : named.get(port);
    return from === undefined ? [] : [{ ...range, from, to: endPort ?? from }];
  });
}
