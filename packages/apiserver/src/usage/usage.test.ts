import type { PodStreams, UsageFigures } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authenticatedGroup } from "../auth/identity.ts";
import { TestApi } from "../testing/test-api.test.support.ts";

const metrics = "/apis/metrics.k8s.io/v1beta1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const used = { cpuNanoCores: 1_500_000, memoryBytes: 4096 };
const container = { name: "main", image: "busybox:1" };

let api: TestApi;
let figures: UsageFigures;

const tenant = { user: "tenant", groups: [authenticatedGroup] };
const as = async (path: string, method: "GET" | "POST" | "DELETE" = "GET"): Promise<number> =>
  (await api.server.transportAs(tenant).send({ method, path, headers: {} })).status;

async function run(namespace: string, name: string, labels: object = {}): Promise<string> {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const { metadata } = await api.create(pods, { metadata: { name, labels }, spec: { containers: [container] } });
  await api.merge(`${pods}/${name}/status`, { status: { phase: "Running" } });
  return metadata.uid;
}

beforeAll(async () => {
  const podStreams: PodStreams = {
    exec: () => Promise.reject(new Error("not used")),
    usage: async () => figures,
  };
  api = await TestApi.start({ nodeName: "box", podStreams });
  await api.create("/api/v1/nodes", { metadata: { name: "box", labels: { disk: "fast" } } });
  await api.create("/api/v1/nodes", { metadata: { name: "elsewhere" } });
  await api.create("/api/v1/namespaces", { metadata: { name: "team" } });
  const uids = [await run("default", "web", { app: "web" }), await run("team", "job")];
  await run("default", "new");
  figures = {
    atMs: Date.parse("2026-01-01T00:00:10Z"),
    windowMs: 15_000,
    node: used,
    pods: new Map(uids.map((uid) => [uid, [{ name: "main", diskBytes: 1, ...used }]])),
  };
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "tenant" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  await api.create(`${rbac}/namespaces/team/rolebindings`, { metadata: { name: "t" }, roleRef, subjects });
  const reader = { metadata: { name: "reader" }, rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] };
  await api.create(`${rbac}/namespaces/default/roles`, reader);
  await api.create(`${rbac}/namespaces/default/rolebindings`, {
    metadata: { name: "t" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects,
  });
});
afterAll(() => api[Symbol.asyncDispose]());

test("a Pod has the figures of its containers, and the labels of the Pod", async () => {
  expect(await api.get(`${metrics}/namespaces/default/pods/web`)).toEqual({
    kind: "PodMetrics",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: {
      name: "web",
      namespace: "default",
      creationTimestamp: "2026-01-01T00:00:10Z",
      labels: { app: "web" },
    },
    timestamp: "2026-01-01T00:00:10Z",
    window: "15.000s",
    containers: [{ name: "main", usage: { cpu: "1500000n", memory: "4Ki", "ephemeral-storage": "1Ki" } }],
  });
});

test("the node has the figures of the machine", async () => {
  expect(await api.names(`${metrics}/nodes`)).toEqual(["box"]);
  expect(await api.get(`${metrics}/nodes/box`)).toMatchObject({ usage: { cpu: "1500000n", memory: "4Ki" } });
  expect((await api.send("GET", `${metrics}/nodes/elsewhere`)).status).toBe(404);
});

test("lists contain Pods with figures, by namespace, label and name", async () => {
  expect(await api.names(`${metrics}/pods`)).toEqual(["web", "job"]);
  expect(await api.names(`${metrics}/namespaces/default/pods`)).toEqual(["web"]);
  expect(await api.names(`${metrics}/pods?labelSelector=app%3Dweb`)).toEqual(["web"]);
  expect(await api.names(`${metrics}/pods?fieldSelector=metadata.name%3Djob`)).toEqual(["job"]);
  expect(await api.names(`${metrics}/nodes?labelSelector=disk%3Dslow`)).toEqual([]);
});

test.for([
  ["a Pod without figures", "GET", "namespaces/default/pods/new", 404],
  ["a missing Pod", "GET", "namespaces/default/pods/none", 404],
  ["a subresource", "GET", "namespaces/default/pods/web/log", 404],
  ["a watch", "GET", "pods?watch=true", 405],
  ["a creation", "POST", "namespaces/default/pods", 405],
  ["a deletion", "DELETE", "namespaces/default/pods/web", 405],
  ["an invalid selector", "GET", "pods?labelSelector=%3D", 400],
] as const)("%s is refused", async ([, method, path, status]) => {
  const answer = await api.send(method, `${metrics}/${path}`, method === "POST" ? {} : undefined);
  expect(answer).toMatchObject({ status, body: { kind: "Status", code: status } });
});

test("kubectl get shows CPU and memory", async () => {
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const { body } = await api.send("GET", `${metrics}/namespaces/default/pods`, undefined, { accept });
  expect(body.rows.map(({ cells }: { cells: unknown }) => cells)).toEqual([["web", "1500000n", "4Ki", "15.000s"]]);
});

test("discovery offers get and list", async () => {
  const { resources } = await api.get(metrics);
  expect(resources).toEqual([
    { name: "nodes", singularName: "nodemetrics", namespaced: false, kind: "NodeMetrics", verbs: ["get", "list"] },
    { name: "pods", singularName: "podmetrics", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] },
  ]);
});

describe("a tenant", () => {
  test("sees the metrics of its own namespace only", async () => {
    expect(await as(`${metrics}/namespaces/team/pods`)).toBe(200);
    expect(await as(`${metrics}/namespaces/team/pods/job`)).toBe(200);
    for (const path of ["pods", "nodes", "nodes/box", "namespaces/default/pods", "namespaces/default/pods/web"])
      expect(await as(`${metrics}/${path}`)).toBe(403);
  });

  test("who may read Pods may not read their metrics without a rule for them", async () => {
    expect(await as("/api/v1/namespaces/default/pods/web")).toBe(200);
    expect(await as(`${metrics}/namespaces/default/pods/web`)).toBe(403);
  });
});

test("a server whose node has no figures does not offer them", async () => {
  await using other = await TestApi.start();
  expect((await other.send("GET", `${metrics}/pods`)).status).toBe(404);
});
