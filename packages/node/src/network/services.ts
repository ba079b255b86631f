import { type Service, serviceRange } from "@agent-sandbox/api";
import { selects } from "./label-selector.ts";
import type { NetworkedPod, PortRanges } from "./policy.ts";
import { isPort, protocols } from "./policy-ports.ts";
import { overlap, parseAddress, parseSubnet, type Subnet } from "./subnet.ts";

/** An address and port of a Service, and the Pods behind it. */
export interface ServiceDoor {
  readonly namespace: string;
  readonly address: string;
  readonly protocol: PortRanges["protocol"];
  readonly port: number;
  readonly targets: readonly { readonly address: string; readonly port: number }[];
}

/** A Pod behind which Services may stand. */
export interface ServingPod extends NetworkedPod {
  readonly name: string;
  readonly ready: boolean;
  readonly hostname: string;
  readonly subdomain: string;
}

/** Why a Service has no address on this machine, for its author. */
export interface ServiceProblem {
  readonly service: Service;
  readonly text: string;
}

export interface DoorView {
  readonly doors: readonly ServiceDoor[];
  readonly problems: readonly ServiceProblem[];
}

/** What the Services of one namespace may cost: ports and the Pods behind each of them, one rule of the firewall each. */
const mostRules = 4096;

const services = parseSubnet(serviceRange) as Subnet;

/**
 * The doors of all Services that have an address of their own. The address decides whose traffic is redirected, so the API
 * server is not taken at its word: a door is only made for addresses of `serviceRange` outside the Pods' network, and an
 * address that several Services claim belongs to the oldest.
 */
export function doorsOf(all: readonly Service[], pods: readonly ServingPod[], podNetwork: string): DoorView {
  const podSubnet = parseSubnet(podNetwork);
  const owners = new Map<string, Service>();
  const rules = new Map<string, number>();
  const doors: ServiceDoor[] = [];
  const problems: ServiceProblem[] = [];
  for (const service of all.toSorted(olderFirst)) {
    const address = clusterIpOf(service);
    if (address === undefined) continue;
    const own = doorsTo(service, address, pods);
    const { namespace = "" } = service.metadata ?? {};
    const cost = own.reduce((sum, { targets }) => sum + 1 + targets.length, rules.get(namespace) ?? 0);
    const text = problemOf(address, { podSubnet, owner: owners.get(address), cost });
    if (text !== undefined) problems.push({ service, text });
    else {
      owners.set(address, service);
      rules.set(namespace, cost);
      doors.push(...own);
    }
  }
  return { doors, problems };
}

/** The address that a Service has in the API, if it is meant to have one. */
export function clusterIpOf({ spec }: Service): string | undefined {
  const address = spec?.clusterIP ?? "";
  return address === "" || address === "None" || spec?.type === "ExternalName" ? undefined : address;
}

/** Whether an address can be a Service's. */
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
    return `The cluster IP "${address}" is in the Pods' network: nothing is redirected`;
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

function doorsTo(service: Service, address: string, pods: readonly ServingPod[]): ServiceDoor[] {
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

/** The Pods that a Service selects and that are ready, or whose readiness it does not care about. */
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
