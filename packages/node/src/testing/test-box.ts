import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { ConfigMap, Container, ContainerStatus, Pod, PodSpec, Secret } from "@agent-sandbox/api";
import { type KubeEvent, kubeEvents } from "@agent-sandbox/kube";
import { createNode, type EmbeddedNode, type NodeOptions } from "../create-node.ts";
import { configMaps, pods, secrets } from "../resources.ts";
import { isGone, namespace, nodeName, openTestApi, type TestApi } from "./test-api.ts";

export interface TestPod {
  readonly metadata?: Pod["metadata"];
  readonly spec?: Partial<PodSpec>;
}

/** A node with its API server, and shortcuts for tests of Pods. */
export interface TestBox extends AsyncDisposable {
  readonly api: TestApi;
  readonly node: EmbeddedNode;
  readonly dataDir: string;
  create(name: string, pod: TestPod): Promise<void>;
  /** The whole log of a container. */
  log(pod: string, container?: string, previous?: boolean): Promise<string>;
  /** The stdout of a shell script in a running container, without trailing whitespace. */
  shell(pod: string, script: string, container?: string): Promise<string>;
  /** The Pod's events as `Reason: text`, in order. */
  events(pod: string): string[];
  putConfigMap(name: string, data: Record<string, string>): Promise<void>;
  putSecret(name: string, data: Record<string, string>): Promise<void>;
  remove(pod: string, gracePeriodSeconds?: number): Promise<void>;
  /** Removes all Pods, so that they do not use the processors during later tests. */
  removeAll(): Promise<void>;
}

export async function openTestBox(options: Partial<NodeOptions> = {}): Promise<TestBox> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "node-int-")));
  const api = openTestApi();
  const node = await createNode({ client: api.client, nodeName, dataDir, allowedRuntimes: ["runc"], ...options });
  await node.ready;
  const remove: TestBox["remove"] = async (name, gracePeriodSeconds = 1) => {
    await api.client.delete(pods, { namespace, name }, { gracePeriodSeconds });
    await api.until(name, isGone);
  };
  return {
    api,
    node,
    dataDir,
    create: async (name, { metadata, spec }) => {
      const containers: Container[] = [{ name: "main", image: "host" }];
      await api.client.create(pods, {
        metadata: { ...metadata, namespace, name },
        spec: { nodeName, containers, ...spec },
      });
    },
    log: async (pod, container, previous = false) => {
      const place = { namespace, pod, ...(container !== undefined && { container }) };
      return text(await node.podStreams.logs({ ...place, follow: false, previous, timestamps: false }));
    },
    shell: async (pod, script, container) => {
      const place = { namespace, pod, ...(container !== undefined && { container }) };
      const session = await node.podStreams.exec({ ...place, command: ["sh", "-c", script], tty: false, stdin: false });
      const [said] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
      return said.trimEnd();
    },
    events: (pod) =>
      api.server
        .readAll(kubeEvents)
        .filter(({ regarding }) => regarding.name === pod)
        .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
        .map(({ reason, note }) => `${reason}: ${note}`),
    putConfigMap: (name, data) => put(api, configMaps, name, { data }),
    putSecret: (name, data) =>
      put(api, secrets, name, {
        data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, btoa(value)])),
      }),
    remove,
    removeAll: async () => {
      await Promise.all(api.server.readAll(pods).map(({ metadata }) => remove(metadata?.name ?? "", 0)));
    },
    [Symbol.asyncDispose]: async () => {
      await node.teardown();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function orderOf({ eventTime, metadata }: KubeEvent): string {
  return `${eventTime} ${metadata?.resourceVersion?.padStart(12, "0")}`;
}

async function put<T extends ConfigMap | Secret>(
  { client, server }: TestApi,
  resource: Parameters<typeof server.read<T>>[0],
  name: string,
  content: Partial<T>,
): Promise<void> {
  const object = { metadata: { namespace, name }, ...content } as T;
  const exists = server.read(resource, { namespace, name }) !== undefined;
  if (exists) await client.patch(resource, { namespace, name }, { type: "merge", body: content });
  else await client.create(resource, object);
}

export const hasPhase =
  (...phases: readonly string[]) =>
  (pod: Pod | undefined): boolean =>
    phases.includes(pod?.status?.phase ?? "");

export const isOver: (pod: Pod | undefined) => boolean = hasPhase("Succeeded", "Failed");

export function statusOf(pod: Pod | undefined, container = "main"): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === container,
  );
}

/** Turns a text into a valid Kubernetes name. */
export function slug(words: string): string {
  return words.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

/** Options of `expect.poll` with a timeout that is long enough for a busy machine. */
export const soon: { readonly timeout: number; readonly interval: number } = { timeout: 60_000, interval: 50 };
