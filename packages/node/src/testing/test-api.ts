import {
  type Pod,
  type PodSpec,
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
} from "@agent-sandbox/api";
import { type Client, createClient, kubeEvents, type Transport } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import {
  configMaps,
  endpointSlices,
  endpoints,
  leases,
  namespaces,
  networkPolicies,
  nodes,
  persistentVolumes,
  pods,
  secrets,
  services,
  storageClasses,
  type TokenRequest,
  volumeClaims,
} from "../resources.ts";

export const nodeName = "box";
export const namespace = "default";

/** An in-memory API server with the kinds that a node uses, and helpers for tests. */
export interface TestApi {
  readonly server: MemoryApiServer;
  readonly client: Client;
  create(name: string, spec?: Partial<PodSpec>): Promise<Pod>;
  read(name: string): Pod | undefined;
  /** Resolves when the Pod satisfies the condition. A deleted Pod is undefined. */
  until(name: string, condition: (pod: Pod | undefined) => boolean): Promise<Pod>;
}

export function openTestApi(): TestApi {
  const server = new MemoryApiServer({
    resources: [
      { ...pods, status: true, graceful: true },
      { ...nodes, status: true },
      leases,
      kubeEvents,
      configMaps,
      secrets,
      { ...volumeClaims, status: true },
      { ...persistentVolumes, status: true },
      storageClasses,
      services,
      endpoints,
      endpointSlices,
      namespaces,
      networkPolicies,
      { ...sandboxes, status: true },
      { ...sandboxClaims, status: true },
      sandboxTemplates,
      { ...sandboxSnapshots, status: true },
    ],
  });
  const client = createClient(withTokens(server));
  const waiting = new Set<() => void>();
  server.onChange(() => {
    for (const look of waiting) look();
  });
  const read = (name: string): Pod | undefined => server.read(pods, { namespace, name });
  return {
    server,
    client,
    read,
    create: (name, spec = {}) =>
      client.create(pods, {
        metadata: { namespace, name },
        spec: { nodeName, containers: [{ name: "main", image: "host" }], ...spec },
      }),
    until: (name, condition) =>
      new Promise((resolve) => {
        const look = (): void => {
          const pod = read(name);
          if (!condition(pod)) return;
          waiting.delete(look);
          resolve(pod ?? {});
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Answers token requests, which the in-memory server does not support. */
function withTokens(server: MemoryApiServer): Transport {
  let count = 0;
  return {
    stream: (request) => server.stream(request),
    close: () => server.close(),
    send: (request) => {
      const account = /\/serviceaccounts\/([^/?]+)\/token/.exec(request.path)?.[1];
      if (account === undefined) return server.send(request);
      const { spec } = request.body as TokenRequest;
      const expirationTimestamp = new Date(Date.now() + 1000 * spec.expirationSeconds).toISOString();
      const token = `${account} ${spec.audiences.join(",")} ${spec.boundObjectRef.name} ${(count += 1)}`;
      return Promise.resolve({ status: 201, headers: {}, body: { spec, status: { token, expirationTimestamp } } });
    },
  };
}

/** The metadata that the Sandbox controller writes on a Pod whose root filesystem is kept. */
export function keepingMetadata({ metadata: { name = "", uid = "" } }: Sandbox): NonNullable<Pod["metadata"]> {
  return {
    annotations: { "agents.x-k8s.io/keep-rootfs": uid },
    ownerReferences: [{ apiVersion: sandboxes.apiVersion, kind: sandboxes.kind, name, uid, controller: true }],
  };
}

export const isReady = (pod: Pod | undefined): boolean =>
  pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

export const isGone = (pod: Pod | undefined): boolean => pod === undefined;
