import { createHash } from "node:crypto";
import type { ApiObject } from "../api-object.ts";

/** The only port of the Pod. Existing clients expect it. */
export const routerPort = 8080;

/** Existing clients forward a port of this Service. */
const serviceName = "sandbox-router-svc";
const podName = "sandbox-router";

/** A label that only the Service below selects by, so that no other list finds the Pod. */
const podLabels = { "agents.x-k8s.io/provided": "sandbox-router" };
const sliceLabels = { "kubernetes.io/service-name": serviceName };

/** An address for documentation (RFC 5737): nothing can connect to it. */
const unreachable = "192.0.2.1";

/** An object that the server provides in every namespace, without storing it. */
export interface ProvidedObject {
  readonly resource: string;
  readonly group: string;
  readonly name: string;
  /** The label selector with which clients look for it. */
  readonly selector?: string;
  build(place: ProvidedPlace): ApiObject;
}

export interface ProvidedPlace {
  readonly namespace: string;
  readonly nodeName: string | undefined;
  /** When the server started. */
  readonly since: string;
}

const service: ProvidedObject = {
  resource: "services",
  group: "",
  name: serviceName,
  build: (place) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(place, serviceName, podLabels),
    spec: {
      type: "ClusterIP",
      // Without an address of its own, Pods cannot connect to it.
      clusterIP: "None",
      clusterIPs: ["None"],
      selector: podLabels,
      ports: [{ name: "http", protocol: "TCP", port: routerPort, targetPort: routerPort }],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    },
    status: { loadBalancer: {} },
  }),
};

const pod: ProvidedObject = {
  resource: "pods",
  group: "",
  name: podName,
  selector: selectorOf(podLabels),
  build: (place) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(place, podName, podLabels),
    spec: {
      ...(place.nodeName === undefined ? {} : { nodeName: place.nodeName }),
      restartPolicy: "Always",
      containers: [{ name: "router", image: podName, ports: [{ name: "http", containerPort: routerPort }] }],
    },
    status: {
      phase: "Running",
      startTime: place.since,
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime: place.since,
      })),
      containerStatuses: [
        {
          name: "router",
          image: podName,
          imageID: "",
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: place.since } },
        },
      ],
    },
  }),
};

const endpointSlice: ProvidedObject = {
  resource: "endpointslices",
  group: "discovery.k8s.io",
  name: serviceName,
  selector: selectorOf(sliceLabels),
  build: (place) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: metadata(place, serviceName, sliceLabels),
    addressType: "IPv4",
    endpoints: [
      {
        addresses: [unreachable],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: "Pod", name: podName, namespace: place.namespace, uid: uidOf(place.namespace, podName) },
      },
    ],
    ports: [{ name: "http", protocol: "TCP", port: routerPort }],
  }),
};

/** The objects through which clients find the router and forward a port to it. */
export const routerObjects: readonly ProvidedObject[] = [service, pod, endpointSlice];

function metadata(
  { namespace, since }: ProvidedPlace,
  name: string,
  labels: Readonly<Record<string, string>>,
): ApiObject["metadata"] {
  const uid = uidOf(namespace, name);
  return { name, namespace, uid, resourceVersion: "1", creationTimestamp: since, labels };
}

/** The same after a restart, because clients compare UIDs. */
function uidOf(namespace: string, name: string): string {
  const hex = createHash("sha256").update(`provided ${namespace}/${name}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
