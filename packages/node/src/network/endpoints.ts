import type { Pod, Service } from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";
import { selects } from "./label-selector.ts";

export interface EndpointPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

interface TargetRef {
  readonly kind: "Pod";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
  readonly hostname?: string;
  readonly nodeName: string;
  readonly targetRef: TargetRef;
}

export interface EndpointSlice extends KubeObject {
  readonly addressType: "IPv4";
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly EndpointPort[];
}

interface EndpointAddress {
  readonly ip: string;
  readonly hostname?: string;
  readonly nodeName: string;
  readonly targetRef: TargetRef;
}

export interface Endpoints extends KubeObject {
  readonly subsets: readonly {
    readonly addresses?: readonly EndpointAddress[];
    readonly notReadyAddresses?: readonly EndpointAddress[];
    readonly ports?: readonly EndpointPort[];
  }[];
}

/** Pods of a Service that serve it on the same ports. */
export interface EndpointGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** The limit of the API for an EndpointSlice, used for Endpoints too. */
const mostEndpoints = 1000;

/** Whether the node writes the endpoints of a Service. For a Service without a selector, users write them. */
export function isSelecting({ spec }: Service): boolean {
  return spec?.type !== "ExternalName" && Object.keys(spec?.selector ?? {}).length > 0;
}

export function isBehind({ metadata, spec }: Service, pod: Pod): boolean {
  return (
    pod.metadata?.namespace === metadata?.namespace &&
    selects({ matchLabels: spec?.selector ?? {} }, pod.metadata?.labels ?? {})
  );
}

/**
 * The Pods of a Service that have an address and have not finished, grouped by the ports they serve. A port name may be
 * another number in each Pod, and is left out for a Pod that does not have it.
 */
export function endpointGroups(service: Service, pods: readonly Pod[]): EndpointGroup[] {
  const groups = new Map<string, { ports: readonly EndpointPort[]; endpoints: Endpoint[] }>();
  const behind = pods
    .filter((pod) => isBehind(service, pod) && isPresent(pod))
    .toSorted((one, other) => ((one.metadata?.name ?? "") < (other.metadata?.name ?? "") ? -1 : 1));
  for (const pod of behind.slice(0, mostEndpoints)) {
    const ports = portsOf(service, pod);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    group.endpoints.push(endpointOf(service, pod));
    groups.set(key, group);
  }
  return [...groups.values()];
}

function isPresent({ status }: Pod): boolean {
  return (status?.podIP ?? "") !== "" && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function portsOf({ spec }: Service, pod: Pod): EndpointPort[] {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const named = containers.flatMap(({ ports = [] }) => ports);
  return (spec?.ports ?? []).flatMap(({ name, port, targetPort = port, protocol = "TCP", appProtocol }) => {
    const number =
      typeof targetPort === "number" ? targetPort : named.find((one) => one.name === targetPort)?.containerPort;
    if (number === undefined) return [];
    const about = { ...(name !== undefined && { name }), ...(appProtocol !== undefined && { appProtocol }) };
    return [{ port: number, protocol, ...about }];
  });
}

function endpointOf({ metadata: of, spec: wanted }: Service, { metadata = {}, spec, status }: Pod): Endpoint {
  const serving = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
  const terminating = metadata.deletionTimestamp !== undefined;
  const hostname = spec?.subdomain === of?.name ? spec?.hostname : undefined;
  return {
    addresses: [status?.podIP ?? ""],
    conditions: {
      ready: wanted?.publishNotReadyAddresses === true || (serving && !terminating),
      serving: wanted?.publishNotReadyAddresses === true || serving,
      terminating,
    },
    ...(hostname !== undefined && { hostname }),
    nodeName: spec?.nodeName ?? "",
    targetRef: {
      kind: "Pod",
      namespace: metadata.namespace ?? "",
      name: metadata.name ?? "",
      uid: metadata.uid ?? "",
    },
  };
}

/** The owner reference to the Service, with which the garbage collector removes the objects. */
const ownerOf = ({ metadata }: Service) => ({
  apiVersion: "v1",
  kind: "Service",
  name: metadata?.name ?? "",
  uid: metadata?.uid ?? "",
  controller: true,
  blockOwnerDeletion: true,
});

export const sliceManager = "agent-sandbox-node";
export const serviceLabel = "kubernetes.io/service-name";
export const managerLabel = "endpointslice.kubernetes.io/managed-by";

/** The slices of a Service. Their names contain a part of its UID, so that a recreated Service gets new ones. */
export function slicesOf(service: Service, groups: readonly EndpointGroup[]): EndpointSlice[] {
  const { namespace = "", name = "", uid = "" } = service.metadata ?? {};
  // A Service without Pods has one empty slice.
  const all = groups.length > 0 ? groups : [{ ports: [], endpoints: [] }];
  return all.map(({ ports, endpoints }, index) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: `${name}-${uid.slice(0, 8)}${index === 0 ? "" : `-${index}`}`,
      labels: { [serviceLabel]: name, [managerLabel]: sliceManager },
      ownerReferences: [ownerOf(service)],
    },
    addressType: "IPv4",
    endpoints,
    ports,
  }));
}

/** The same in the older Endpoints API, which many clients still read. */
export function endpointsOf(service: Service, groups: readonly EndpointGroup[]): Endpoints {
  const { namespace = "", name = "" } = service.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { namespace, name, ownerReferences: [ownerOf(service)] },
    subsets: groups.map(({ ports, endpoints }) => {
      const [ready, others] = [true, false].map((wanted) =>
        endpoints.filter(({ conditions }) => conditions.ready === wanted).map(addressOf),
      );
      return {
        ...(ready?.length && { addresses: ready }),
        ...(others?.length && { notReadyAddresses: others }),
        ...(ports.length > 0 && { ports }),
      };
    }),
  };
}

function addressOf({ addresses, hostname, nodeName, targetRef }: Endpoint): EndpointAddress {
  return { ip: addresses[0] ?? "", ...(hostname !== undefined && { hostname }), nodeName, targetRef };
}
