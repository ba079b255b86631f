import { type Pod, type Sandbox, sandboxNameHashLabel } from "@agent-sandbox/api";
import { createClient, Informers } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { podCache, pods, serviceCache, services, trimPod } from "./child-caches.ts";
import { podMetadataPatch } from "./sandbox/pod-metadata.ts";
import { defaultSettings } from "./sandbox/settings.ts";

test("keeps only the fields of a Pod that decisions read (MANAGER-9)", () => {
  const ownerReferences = [{ apiVersion: "v1", kind: "X", name: "x", uid: "u", controller: true }];
  const state = { terminated: { exitCode: 137, reason: "OOMKilled" } };
  const container = { name: "c", image: "i", imageID: "sha256:1", ready: false, restartCount: 7, state };
  const status = { phase: "Failed", reason: "Evicted", message: "m", podIPs: [{ ip: "10.0.0.2" }], hostIP: "10.1.0.1" };
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", labels: { a: "1" }, ownerReferences, finalizers: ["f"], managedFields: [{}] },
    spec: {
      containers: [{ name: "c", image: "i", env: [{ name: "SECRET", value: "s" }] }],
      nodeName: "n",
      restartPolicy: "Never",
    },
    status: { ...status, containerStatuses: [container] },
  };
  expect(trimPod(pod)).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", labels: { a: "1" }, ownerReferences },
    spec: { containers: [], nodeName: "n", restartPolicy: "Never" },
    status: {
      phase: "Failed",
      reason: "Evicted",
      message: "m",
      podIPs: [{ ip: "10.0.0.2" }],
      containerStatuses: [{ name: "c", ready: false, state, image: "", imageID: "", restartCount: 0 }],
    },
  });
  expect(trimPod({ metadata: { name: "p" } })).toEqual({ metadata: { name: "p" }, spec: { containers: [] } });
});

test("computes the same metadata patch from a trimmed Pod as from a full one (MANAGER-9)", () => {
  const podTemplate = { metadata: { labels: { a: "2" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const sandbox: Sandbox = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "s", namespace: "n", uid: "u" },
    spec: { podTemplate },
  };
  const metadata = { name: "s", labels: { a: "1", gone: "x" }, finalizers: ["f"], managedFields: [{}] };
  const annotations = { "agents.x-k8s.io/propagated-labels": "a,gone" };
  const pod: Pod = { metadata: { ...metadata, annotations }, spec: podTemplate.spec };
  const change = podMetadataPatch(sandbox, defaultSettings, trimPod(pod));
  expect(change).toEqual(podMetadataPatch(sandbox, defaultSettings, pod));
  expect(change).toMatchObject({ labels: { a: "2", gone: null } });
  expect(Object.keys(change ?? {})).toEqual(["labels", "annotations"]);
});

test("shares one cache of labelled Pods and Services, which holds no others (MANAGER-10)", async () => {
  const server = new MemoryApiServer({ resources: [pods, services] });
  const client = createClient(server);
  await using informers = new Informers({ client });
  const scope = { labelSelector: sandboxNameHashLabel };
  for (const [name, labels] of [
    ["ours", { [sandboxNameHashLabel]: "h" }],
    ["theirs", { [sandboxNameHashLabel.toUpperCase()]: "h" }],
  ] as const) {
    const metadata = { name, namespace: "n", labels };
    await client.create(pods, { metadata, spec: { containers: [{ name: "c", image: "i" }] } });
    await client.create(services, { metadata });
  }
  const cached = podCache(informers, scope);
  expect(podCache(informers, scope)).toBe(cached);
  await Promise.all([cached.synced, serviceCache(informers, scope).synced]);
  expect(cached.list()).toMatchObject([{ metadata: { name: "ours" }, spec: { containers: [] } }]);
  expect(serviceCache(informers, scope).list()).toMatchObject([{ metadata: { name: "ours" } }]);
});
