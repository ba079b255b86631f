import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakePodStreams } from "../streams/fake-pod-streams.test.support.ts";
import { pod, pods, TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
let podStreams: FakePodStreams;

beforeEach(async () => {
  podStreams = new FakePodStreams();
  api = await TestApi.start({ podStreams, nodeName: "box" });
  await api.create(pods, pod("p"));
  const main = { name: "main", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
  await api.merge(`${pods}/p/status`, { status: { phase: "Running", containerStatuses: [main] } });
});
afterEach(() => api[Symbol.asyncDispose]());

describe("pods/log", () => {
  test("returns the log that the node reads", async () => {
    const { status, headers, body } = await api.send("GET", `${pods}/p/log?tailLines=3`);
    expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "text/plain" });
    expect(JSON.parse(body)).toMatchObject({ pod: "p", container: "main", tailLines: 3 });
  });

  test("returns the node's error", async () => {
    podStreams.refuse = Object.assign(new Error("the disk is gone"), { reason: "NotFound" });
    const { status, body } = await api.send("GET", `${pods}/p/log`);
    expect([status, body.message]).toEqual([404, "the disk is gone"]);
  });

  test("stops reading when the client disconnects", async () => {
    const gone = new AbortController();
    const answer = api.server.transport.send({ method: "GET", path: `${pods}/p/log?follow=true`, signal: gone.signal });
    while (podStreams.followed === undefined) await new Promise(setImmediate);
    gone.abort();
    await expect(answer).rejects.toThrow("Premature close");
    expect(podStreams.followed.destroyed).toBe(true);
  });

  test("is empty while the Pod is not bound to a node", async () => {
    const gated = {
      spec: { containers: [{ name: "main", image: "busybox:1" }], schedulingGates: [{ name: "a.b/c" }] },
    };
    await api.create(pods, { ...pod("waiting"), ...gated });
    const { status, body } = await api.send("GET", `${pods}/waiting/log`);
    expect({ status, body }).toEqual({ status: 204, body: "" });
  });

  test("supports only GET", async () => {
    expect((await api.send("POST", `${pods}/p/log`, {})).status).toBe(405);
  });
});

describe("pods/eviction", () => {
  const eviction = (more: object = {}): object => ({
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "p", namespace: "default" },
    ...more,
  });

  test("deletes with the Pod's own grace period", async () => {
    const answer = await api.send("POST", `${pods}/p/eviction`, eviction());
    expect([answer.status, answer.body.status]).toEqual([201, "Success"]);
    expect((await api.get(`${pods}/p`)).metadata["deletionGracePeriodSeconds"]).toBe(30);
  });

  test("uses the delete options of the eviction", async () => {
    const options = { deleteOptions: { gracePeriodSeconds: 5, preconditions: { uid: "another" } } };
    expect((await api.send("POST", `${pods}/p/eviction`, eviction(options))).status).toBe(409);
    expect((await api.get(`${pods}/p`)).metadata["deletionTimestamp"]).toBeUndefined();
    const dry = { deleteOptions: { dryRun: ["All"] } };
    expect((await api.send("POST", `${pods}/p/eviction`, eviction(dry))).status).toBe(201);
    expect((await api.get(`${pods}/p`)).metadata["deletionTimestamp"]).toBeUndefined();
  });

  test.for([
    ["another kind", { kind: "Pod" }],
    ["another name", { metadata: { name: "q" } }],
    ["another namespace", { metadata: { name: "p", namespace: "kube-system" } }],
  ] as const)("refuses %s", async ([, more]) => {
    expect((await api.send("POST", `${pods}/p/eviction`, eviction(more))).status).toBe(400);
    expect((await api.get(`${pods}/p`)).metadata["deletionTimestamp"]).toBeUndefined();
  });

  test("of a missing Pod is answered with 404", async () => {
    const { status } = await api.send("POST", `${pods}/q/eviction`, eviction({ metadata: { name: "q" } }));
    expect(status).toBe(404);
  });
});

test.for([
  `${pods}/p/proxy`,
  `${pods}/p/proxy/some/where`,
  "/api/v1/namespaces/default/services/s:80/proxy/x",
] as const)("%s is refused with a hint", async (path) => {
  const { status, body } = await api.send("GET", path);
  expect([status, body.message]).toEqual([405, expect.stringContaining("use port-forward")]);
});

test.for(["exec", "attach", "portforward"] as const)("%s needs an upgrade request", async (part) => {
  const { status, body } = await api.send("POST", `${pods}/p/${part}`);
  expect([status, body.message]).toEqual([400, "Upgrade request required"]);
});

describe("nodes/proxy", () => {
  const node = "/api/v1/nodes/box/proxy";
  beforeEach(async () => {
    await api.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "box" } });
  });

  test("serves the node's metrics of its Pods", async () => {
    const { status, headers, body } = await api.send("GET", `${node}/metrics/resource?x=1`);
    expect({ status, type: headers["content-type"], body }).toEqual({
      status: 200,
      type: "text/plain; version=0.0.4",
      body: "# /metrics/resource",
    });
  });

  test.for([
    ["GET", `${node}/run/default/p/main`, 404],
    ["POST", `${node}/metrics/resource`, 405],
    ["GET", "/api/v1/nodes/other/proxy/metrics/resource", 404],
  ] as const)("refuses %s %s", async ([method, path, expected]) => {
    expect((await api.send(method, path)).status).toBe(expected);
  });
});
