import { apiServerAddress, type Service, serviceRange } from "@agent-sandbox/api";
import { selects } from "./label-selector.ts";
import type { NetworkedPod, PortRanges } from "./policy.ts";
import { isPort, protocols } from "./policy-ports.ts";
import { overlap, parseAddress, parseSubnet, type Subnet } from "./subnet.ts";

/** An address and port of a Service, and the Pods that connections to it are redirected to. */
export interface ServiceAddress {
  readonly namespace: string;
  readonly address: string;
  readonly protocol: PortRanges["protocol"];
  readonly port: number;
  readonly targets: readonly { readonly address: string; readonly port: number }[];
}

/** A Pod that Services may select. */
export interface ServingPod extends NetworkedPod {
  readonly name: string;
  readonly ready: boolean;
  readonly hostname: string;
  readonly subdomain: string;
}

/** Why connections to a Service are not redirected. It is reported to the author as an event. */
export interface ServiceProblem {
  readonly service: Service;
  readonly text: string;
}

export interface ServiceAddressView {
  readonly serviceAddresses: readonly ServiceAddress[];
  readonly problems: readonly ServiceProblem[];
}

/** The limit of firewall rules for the Services of one namespace: one for each port, and one for each Pod of a port. */
const mostRules = 4096;

const services = parseSubnet(serviceRange) as Subnet;

/**
 * The addresses of all Services with a cluster IP. The address decides whose traffic is redirected, so the node checks it
 * again: it must be in `serviceRange` and outside the Pod network, and if several Services have it, the oldest one wins.
 */
export function serviceAddressesOf(
  all: readonly Service[],
  pods: readonly ServingPod[],
  podNetwork: string,
): ServiceAddressView {
  const podSubnet = parseSubnet(podNetwork);
  const owners = new Map<string, Service>();
  const rules = new Map<string, number>();
  const serviceAddresses: ServiceAddress[] = [];
  const problems: ServiceProblem[] = [];
  for (const service of all.toSorted(olderFirst)) {
    const address = clusterIpOf(service);
    if (address === undefined) continue;
    const own = addressesOf(service, address, pods);
    const { namespace = "" } = service.metadata ?? {};
    const cost = own.reduce((sum, { targets }) => sum + 1 + targets.length, rules.get(namespace) ?? 0);
    const text = problemOf(address, { podSubnet, owner: owners.get(address), cost });
    if (text !== undefined) problems.push({ service, text });
    else {
      owners.set(address, service);
      rules.set(namespace, cost);
      serviceAddresses.push(...own);
    }
  }
  return { serviceAddresses, problems };
}

/** The cluster IP of a Service, or `undefined` for a headless or external one. */
export function clusterIpOf({ spec }: Service): string | undefined {
  const address = spec?.clusterIP ?? "";
  return address === "" || address === "None" || spec?.type === "ExternalName" ? undefined : address;
}

/** Whether an address is in the Service range. */
export function isServiceAddress(address: string): boolean {
  const value = parseAddress(address);
  return value !== undefined && overlap(services, { base: value, prefix: 32 });
}

interface Claim {
  readonly podSubnet: Subnet | undefined;
  readonly owner: Service | undefined;
  readonly cost: number;
}

function problemOf(address: string, { podSubnet, owner, cost }: Claim): string | undefined {
  const value = parseAddress(address);
  if (value === undefined || !isServiceAddress(address)) {
    return `The cluster IP "${address.slice(0, 64)}" is not in ${serviceRange}: nothing is redirected`;
  }
  if (podSubnet === undefined || overlap(podSubnet, { base: value, prefix: 32 })) {
    return `The cluster IP "${address}" is in the Pod network: nothing is redirected`;
  }
  if (address === apiServerAddress) {
    return `The cluster IP "${address}" is the address of the API server: nothing is redirected`;
  }
  if (owner !== undefined) return `The cluster IP "${address}" belongs to an older Service: nothing is redirected`;
  if (cost > mostRules) {
    return `The Services of the namespace need more than ${mostRules} rules: this one is not reachable by its cluster IP`;
  }
  return undefined;
}

function olderFirst({ metadata: a }: Service, { metadata: b }: Service): number {
  const key = (meta: Service["metadata"]): string =>
    `${meta?.creationTimestamp ?? ""} ${meta?.namespace}/${meta?.name}`;
  return key(a) < key(b) ? -1 : 1;
}

function addressesOf(service: Service, address: string, pods: readonly ServingPod[]): ServiceAddress[] {
  const behind = podsBehind(service, pods);
  const { namespace = "" } = service.metadata ?? {};
  return (service.spec?.ports ?? []).flatMap(({ protocol: name = "TCP", port, targetPort = port }) => {
    const protocol = protocols.get(name);
    if (protocol === undefined || !isPort(port)) return [];
    const targets = behind.flatMap((pod) => {
      const number = typeof targetPort === "number" ? targetPort : pod.ports.get(targetPort);
      return isPort(number) ? [{ address: pod.address, port: number }] : [];
    });
    return [{ namespace, address, protocol, port, targets }];
  });
}

/** The Pods that a Service selects and that are ready, or all selected Pods with `publishNotReadyAddresses`. */
export function podsBehind({ metadata, spec }: Service, pods: readonly ServingPod[]): ServingPod[] {
  const matchLabels = spec?.selector ?? {};
  if (Object.keys(matchLabels).length === 0 || spec?.type === "ExternalName") return [];
  return pods.filter(
    (pod) =>
      pod.namespace === metadata?.namespace &&
      (pod.ready || spec?.publishNotReadyAddresses === true) &&
      selects({ matchLabels }, pod.labels),
  );
}
