import type { NetworkPolicy } from "@agent-sandbox/api";
import { type CompiledPolicy, compilePolicy, type PolicyProblem, termsOf } from "./compile-policy.ts";
import type { Labels } from "./label-selector.ts";
import type { Range } from "./ranges.ts";

/** What policies use of a Pod on the network. */
export interface NetworkedPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly address: string;
  /** Port numbers by port name. */
  readonly ports: ReadonlyMap<string, number>;
  /** Whether the Pod asks for the token of its service account. */
  readonly asksForAccount?: boolean;
}

export interface Cluster {
  readonly pods: readonly NetworkedPod[];
  readonly policies: readonly NetworkPolicy[];
  /** The labels of each namespace. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}

export interface PortRanges {
  readonly protocol: "tcp" | "udp" | "sctp";
  /** `undefined`: all ports. */
  readonly ports: readonly Range[] | undefined;
}

/** Allowed traffic from or to these addresses at these ports. `undefined` means all. */
export interface Allowance {
  readonly addresses: readonly Range[] | undefined;
  readonly ports: readonly PortRanges[] | undefined;
}

/**
 * The ingress and egress rules of a Pod. Without a policy a direction is `undefined`: ingress is then allowed from the Pod's own
 * namespace, and egress to everywhere. Pods with the same rules share one array.
 */
export interface PodPolicy {
  readonly address: string;
  readonly namespace: string;
  readonly ingress: readonly Allowance[] | undefined;
  readonly egress: readonly Allowance[] | undefined;
  /** See `reachesApiServer`. */
  readonly asksForAccount?: boolean;
}

export interface PolicyView {
  readonly policies: readonly PodPolicy[];
  readonly problems: readonly PolicyProblem[];
}

/**
 * Limits for the policies of one namespace, so that one tenant does not slow down the rules of all: the number of selectors,
 * peers, ports and exceptions, and of address and port ranges in the firewall (4,096 take nft about 70 ms).
 */
const mostTerms = 5000;
const mostElements = 4096;

const nothing: readonly Allowance[] = [];

type Rules = Pick<PodPolicy, "ingress" | "egress">;

/**
 * Combines the policies for each Pod: traffic is allowed if one of them allows it. An invalid rule allows nothing. The Pods of
 * a namespace whose policies exceed the limits can neither send nor receive.
 */
export function policiesOf(cluster: Cluster): PolicyView {
  const byNamespace = Map.groupBy(cluster.policies, ({ metadata }) => metadata?.namespace ?? "");
  const problems: PolicyProblem[] = [];
  const rulesOf = new Map<NetworkedPod, Rules>();
  for (const [namespace, pods] of Map.groupBy(cluster.pods, (pod) => pod.namespace)) {
    const policies = byNamespace.get(namespace) ?? [];
    const judged = judge(policies, pods, cluster);
    problems.push(...judged.problems);
    for (const [at, pod] of pods.entries()) rulesOf.set(pod, judged.rules[at] ?? { ingress: nothing, egress: nothing });
  }
  const policies = cluster.pods.map((pod) => ({
    address: pod.address,
    namespace: pod.namespace,
    ...(pod.asksForAccount === true && { asksForAccount: true }),
    ...(rulesOf.get(pod) ?? { ingress: nothing, egress: nothing }),
  }));
  return { policies, problems };
}

interface Judged {
  /** The rules of each Pod. A Pod without an entry can neither send nor receive. */
  readonly rules: readonly Rules[];
  readonly problems: readonly PolicyProblem[];
}

function judge(policies: readonly NetworkPolicy[], pods: readonly NetworkedPod[], cluster: Cluster): Judged {
  const terms = policies.reduce((sum, policy) => sum + termsOf(policy), 0);
  if (terms > mostTerms) return tooLarge(policies, `have ${terms} selectors, peers, ports and exceptions`, mostTerms);
  const compiled = policies.map((policy) => compilePolicy(policy, cluster));
  const shared = new Map<string, Rules>();
  const rules = pods.map((pod) => {
    const chosen = [...compiled.keys()].filter((at) => compiled[at]?.selects(pod));
    const own = chosen.flatMap((at) => compiled[at] ?? []);
    const named = own.some(({ hasNamedPorts }) => hasNamedPorts) ? JSON.stringify([...pod.ports]) : "";
    const key = `${chosen.join()} ${named}`;
    const found = shared.get(key) ?? rulesBy(own, pod);
    shared.set(key, found);
    return found;
  });
  const elements = [...shared.values()].reduce((sum, one) => sum + elementsOf(one), 0);
  if (elements > mostElements)
    return tooLarge(policies, `need ${elements} ranges of addresses and ports`, mostElements);
  return { rules, problems: compiled.flatMap(({ problems }) => problems) };
}

function rulesBy(own: readonly CompiledPolicy[], pod: NetworkedPod): Rules {
  const inward = own.flatMap(({ ingress }) => (ingress === undefined ? [] : [ingress]));
  const outward = own.flatMap(({ egress }) => (egress === undefined ? [] : [egress]));
  return {
    ingress: inward.length === 0 ? undefined : inward.flatMap((rules) => rules(pod)),
    egress: outward.length === 0 ? undefined : outward.flat(),
  };
}

function elementsOf({ ingress = nothing, egress = nothing }: Rules): number {
  let sum = 0;
  for (const { addresses, ports } of [...ingress, ...egress]) {
    sum += 1 + (addresses?.length ?? 0) + (ports ?? []).reduce((all, one) => all + 1 + (one.ports?.length ?? 0), 0);
  }
  return sum;
}

function tooLarge(policies: readonly NetworkPolicy[], what: string, most: number): Judged {
  const policy = policies.toSorted((a, b) => termsOf(b) - termsOf(a))[0];
  const text = `The NetworkPolicies of the namespace ${what}, more than ${most}: its Pods can neither send nor receive`;
  return { rules: [], problems: policy === undefined ? [] : [{ policy, text }] };
}
