import { once } from "node:events";
import { connect, createServer } from "node:net";
import {
  CoreV1Api,
  type Informer,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  PortForward,
  type V1ConfigMap,
  type V1Pod,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "./start-server.ts";

let server: TestServer;
let core: CoreV1Api;
let objects: KubernetesObjectApi;
const config = new KubeConfig();
const namespace = "default";

beforeAll(async () => {
  server = await startServer();
  config.loadFromFile(server.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
  objects = KubernetesObjectApi.makeApiClient(config);
});
afterAll(() => server[Symbol.asyncDispose]());

const containers = [{ name: "main", image: "busybox:1" }];
const agents = "agents.x-k8s.io/v1beta1";
const extensions = "extensions.agents.x-k8s.io/v1beta1";
const ourKinds: [kind: string, apiVersion: string, spec: object][] = [
  ["Sandbox", agents, { podTemplate: { spec: { containers } } }],
  ["SandboxTemplate", extensions, { podTemplate: { spec: { containers } } }],
  ["SandboxClaim", extensions, { warmPoolRef: { name: "pool" } }],
  ["SandboxWarmPool", extensions, { replicas: 1, sandboxTemplateRef: { name: "template" } }],
];

/** The first `count` events of the informer, one line each. */
function changes(informer: Informer<V1ConfigMap>, count: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    for (const verb of ["add", "update", "delete"] as const) {
      informer.on(verb, ({ metadata, data }) => {
        lines.push(`${verb} ${metadata?.name} ${data?.["n"]}`);
        if (lines.length === count) resolve(lines);
      });
    }
    informer.on("error", reject);
  });
}

describe("the official JavaScript client", () => {
  test("receives changes through its informer", async () => {
    const labels = { suite: "informer" };
    const write = (n: number): V1ConfigMap => ({ metadata: { name: "i", labels }, data: { n: String(n) } });
    await core.createNamespacedConfigMap({ namespace, body: write(0) });
    const informer = makeInformer(
      config,
      `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({ namespace, labelSelector: "suite=informer" }),
      "suite=informer",
    );
    const seen = changes(informer, 22);
    await informer.start();
    for (let n = 1; n <= 20; n++) await core.replaceNamespacedConfigMap({ namespace, name: "i", body: write(n) });
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "unlabelled" } } });
    await core.deleteNamespacedConfigMap({ namespace, name: "i" });
    const updates = Array.from({ length: 20 }, (_, index) => `update i ${index + 1}`);
    expect(await seen).toEqual(["add i 0", ...updates, "delete i 20"]);
    expect(informer.list()).toEqual([]);
    await informer.stop();
  });

  test.each(ourKinds)("reads and writes a %s as an untyped object", async (kind, apiVersion, spec) => {
    const header = { apiVersion, kind, metadata: { name: "o", namespace } };
    const created = await objects.create({ ...header, spec });
    expect(created.metadata).toMatchObject({ generation: 1 });
    const labelled = { ...header, metadata: { ...header.metadata, labels: { a: "1" } } };
    await objects.patch(labelled, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
    const listed = await objects.list<KubernetesObject>(
      apiVersion,
      kind,
      namespace,
      undefined,
      undefined,
      undefined,
      undefined,
      "a=1",
    );
    expect(listed.items.map(({ metadata }) => metadata?.name)).toEqual(["o"]);
    const read = await objects.read<KubernetesObject>(header);
    (read.metadata ??= {}).labels = { a: "2" };
    const replaced = await objects.replace(read);
    expect(replaced.metadata?.labels).toEqual({ a: "2" });
    await objects.delete(header);
    await expect(objects.read(header)).rejects.toMatchObject({ code: 404 });
  });

  test("applies with server-side apply", async () => {
    const apply = (n: string, manager: string, force?: boolean) =>
      objects.patch(
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied", namespace }, data: { n } },
        undefined,
        undefined,
        manager,
        force,
        PatchStrategy.ServerSideApply,
      );
    await apply("1", "alice");
    await expect(apply("2", "bob")).rejects.toMatchObject({ code: 409 });
    expect(await apply("2", "bob", true)).toMatchObject({ data: { n: "2" } });
  });

  test("forwards ports", async () => {
    const body: V1Pod = { metadata: { name: "forwarded" }, spec: { containers } };
    const pod = await core.createNamespacedPod({ namespace, body });
    pod.status = { phase: "Running" };
    await core.replaceNamespacedPodStatus({ namespace, name: "forwarded", body: pod });
    const forward = new PortForward(config);
    const refused = Promise.withResolvers<never>();
    await using listener = createServer((socket) => {
      forward.portForward(namespace, "forwarded", [80], socket, null, socket).catch(refused.reject);
    }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    if (address === null || typeof address === "string") throw new Error("Cannot listen on loopback");
    const socket = connect(address.port, "127.0.0.1");
    socket.write("hello");
    const [echoed] = (await Promise.race([once(socket, "data"), refused.promise])) as [Buffer];
    expect(echoed.toString()).toBe("hello");
    socket.destroy();
  });
});
