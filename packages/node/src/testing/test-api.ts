import type { Pod, PodSpec } from "@agent-sandbox/api";
import { type Client, createClient, kubeEvents } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { leases, nodes, pods } from "../resources.ts";

export const nodeName = "box";
export const namespace = "default";

/** An API server in memory with what a node talks to, and the few things tests want of it. */
export interface TestApi {
  readonly server: MemoryApiServer;
  readonly client: Client;
  create(name: string, spec?: Partial<PodSpec>): Promise<Pod>;
  read(name: string): Pod | undefined;
  /** Settles when the Pod, which is undefined once it is gone, satisfies the condition. */
  until(name: string, condition: (pod: Pod | undefined) => boolean): Promise<Pod>;
}

export function openTestApi(): TestApi {
  const server = new MemoryApiServer({
    resources: [{ ...pods, status: true, graceful: true }, { ...nodes, status: true }, leases, kubeEvents],
  });
  const client = createClient(server);
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

export const isReady = (pod: Pod | undefined): boolean =>
  pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

export const isGone = (pod: Pod | undefined): boolean => pod === undefined;
