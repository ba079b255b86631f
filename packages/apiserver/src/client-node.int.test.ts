import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  Exec,
  KubeConfig,
  type V1Pod,
  type V1Status,
  Watch,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer } from "./index.ts";
import { FakePodStreams } from "./streams/fake-pod-streams.test.support.ts";

let folder: string;
let server: ApiServer;
const config = new KubeConfig();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-client-"));
  server = await createApiServer({ nodeName: "box", podStreams: new FakePodStreams() });
  (await server.listen()).writeKubeconfig(join(folder, "kubeconfig"));
  config.loadFromFile(join(folder, "kubeconfig"));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const namespace = "default";
const body = (name: string): V1Pod => ({
  metadata: { name },
  spec: { containers: [{ name: "main", image: "busybox:1" }] },
});

describe("the official JavaScript client", () => {
  test("creates, reads, lists and deletes", async () => {
    const core = config.makeApiClient(CoreV1Api);
    const created = await core.createNamespacedPod({ namespace, body: body("a") });
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date);
    expect((await core.readNamespacedPod({ namespace, name: "a" })).spec?.nodeName).toBe("box");
    expect(
      (await core.listNamespacedPod({ namespace, fieldSelector: "spec.nodeName=box", limit: 10 })).items,
    ).toHaveLength(1);
    await core.deleteNamespacedPod({ namespace, name: "a", gracePeriodSeconds: 0 });
    await expect(core.readNamespacedPod({ namespace, name: "a" })).rejects.toSatisfy(
      (error) => error instanceof ApiException && error.code === 404,
    );
  });

  test("watches", async () => {
    const events: string[] = [];
    const core = config.makeApiClient(CoreV1Api);
    await new Promise<void>((resolve, reject) => {
      const watching = new Watch(config).watch(
        `/api/v1/namespaces/${namespace}/configmaps`,
        { allowWatchBookmarks: true },
        (type, object: { metadata: { name: string } }) => {
          events.push(type === "BOOKMARK" ? type : `${type} ${object.metadata.name}`);
          if (type === "DELETED") resolve();
        },
        reject,
      );
      watching
        .then(() => core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "w" } } }))
        .then(() => core.deleteNamespacedConfigMap({ namespace, name: "w" }))
        .catch(reject);
    });
    // What was there before, which is nothing, ends with a bookmark.
    expect(events).toEqual(["BOOKMARK", "ADDED w", "DELETED w"]);
  });

  test("handles custom objects", async () => {
    const custom = config.makeApiClient(CustomObjectsApi);
    const kind = { group: "agents.x-k8s.io", version: "v1beta1", plural: "sandboxes", namespace };
    const sandbox = {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name: "s" },
      spec: { podTemplate: { spec: body("x").spec } },
    };
    await custom.createNamespacedCustomObject({ ...kind, body: sandbox });
    const read = (await custom.getNamespacedCustomObject({ ...kind, name: "s" })) as {
      spec: { operatingMode: string };
    };
    expect(read.spec.operatingMode).toBe("Running");
  });

  test("runs commands", async () => {
    const core = config.makeApiClient(CoreV1Api);
    await core.createNamespacedPod({ namespace, body: body("runner") });
    const main = { name: "main", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
    const headers = { "content-type": "application/merge-patch+json" };
    const status = { phase: "Running", containerStatuses: [main] };
    await server.transport.send({
      method: "PATCH",
      path: `/api/v1/namespaces/${namespace}/pods/runner/status`,
      headers,
      body: { status },
    });
    const stdout = new PassThrough();
    const result = await new Promise<V1Status>((resolve, reject) => {
      new Exec(config).exec(namespace, "runner", "main", ["both"], stdout, null, null, false, resolve).catch(reject);
    });
    expect(result.status).toBe("Success");
    expect(String(stdout.read())).toBe("to stdout\n");
  });
});
