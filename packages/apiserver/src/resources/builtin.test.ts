import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const inDefault = (group: string, plural: string): string => `${group}/namespaces/default/${plural}`;

describe("built-in kinds", () => {
  test("events are served in both groups, with the field names of each", async () => {
    const created = await api.create(inDefault("/apis/events.k8s.io/v1", "events"), {
      metadata: { name: "e" },
      regarding: { kind: "Pod", name: "p", namespace: "default" },
      note: "Something happened",
      reason: "Started",
      type: "Normal",
      reportingController: "sandbox-controller",
      reportingInstance: "box",
      action: "Start",
      eventTime: "2026-01-01T00:00:00.123456Z",
    });
    expect(created).toMatchObject({ apiVersion: "events.k8s.io/v1", note: "Something happened" });
    expect(await api.get(inDefault("/api/v1", "events/e"))).toMatchObject({
      apiVersion: "v1",
      message: "Something happened",
      involvedObject: { name: "p" },
      reportingComponent: "sandbox-controller",
    });
    expect(await api.names("/api/v1/events?fieldSelector=involvedObject.name%3Dp,involvedObject.kind%3DPod")).toEqual([
      "e",
    ]);
    expect(await api.names("/api/v1/events?fieldSelector=involvedObject.name%3Dq")).toEqual([]);
  });

  test("stringData of Secrets is stored as encoded data", async () => {
    const path = inDefault("/api/v1", "secrets");
    const created = await api.create(path, {
      metadata: { name: "s" },
      stringData: { token: "geheim" },
      data: { a: "YQ==" },
    });
    expect(created).toMatchObject({ type: "Opaque", data: { token: "Z2VoZWlt", a: "YQ==" } });
    expect(created).not.toHaveProperty("stringData");
    const wrong = await api.send("POST", path, { metadata: { name: "t" }, data: { a: "not base64!" } });
    expect(wrong.status).toBe(400);
    expect(wrong.body.message).toContain("data[a]");
    expect(JSON.stringify(wrong.body)).not.toContain("not base64!");
  });

  test("Services get their defaults", async () => {
    const path = inDefault("/api/v1", "services");
    const body = {
      metadata: { name: "svc" },
      spec: { clusterIP: "None", selector: { a: "b" }, ports: [{ port: 80 }] },
    };
    expect((await api.create(path, body)).spec).toEqual({
      type: "ClusterIP",
      sessionAffinity: "None",
      clusterIP: "None",
      clusterIPs: ["None"],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      selector: { a: "b" },
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
    });
    expect((await api.send("POST", path, { metadata: { name: "First" }, spec: {} })).status).toBe(422);
    expect((await api.send("POST", path, { metadata: { name: "bad" }, spec: { ports: [{ port: 0 }] } })).status).toBe(
      422,
    );
  });

  test("volume claims and network policies are validated by their schemas", async () => {
    const claims = inDefault("/api/v1", "persistentvolumeclaims");
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    expect(await api.create(claims, { metadata: { name: "c" }, spec })).toMatchObject({
      spec: { volumeMode: "Filesystem" },
      status: { phase: "Pending" },
    });
    const wrong = await api.send("POST", claims, {
      metadata: { name: "d" },
      spec: { resources: { requests: { storage: "much" } } },
    });
    expect(wrong).toMatchObject({ status: 400 });
    expect(wrong.body.message).toContain("spec.resources.requests[storage]: Invalid value");
    const policies = inDefault("/apis/networking.k8s.io/v1", "networkpolicies");
    expect(
      await api.create(policies, { metadata: { name: "p" }, spec: { podSelector: {}, egress: [{}] } }),
    ).toMatchObject({
      metadata: { generation: 1 },
      spec: { policyTypes: ["Ingress", "Egress"] },
    });
    expect((await api.send("POST", policies, { metadata: { name: "q" }, spec: { ingress: "all" } })).status).toBe(400);
  });

  test("Leases, Nodes and RuntimeClasses are stored unchanged", async () => {
    const lease = {
      metadata: { name: "l" },
      spec: { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000001Z" },
    };
    expect(await api.create(inDefault("/apis/coordination.k8s.io/v1", "leases"), lease)).toMatchObject({
      spec: lease.spec,
    });
    await api.create("/api/v1/nodes", { metadata: { name: "box" } });
    const status = { status: { capacity: { cpu: "2" }, addresses: [{ type: "InternalIP", address: "10.0.0.1" }] } };
    expect((await api.merge("/api/v1/nodes/box/status", status)).body).toMatchObject(status);
    expect(
      await api.create("/apis/node.k8s.io/v1/runtimeclasses", { metadata: { name: "gvisor" }, handler: "runsc" }),
    ).toMatchObject({ handler: "runsc" });
    expect((await api.send("POST", "/apis/node.k8s.io/v1/runtimeclasses", { metadata: { name: "none" } })).status).toBe(
      422,
    );
  });

  test("Namespaces have their name as a label, and updates cannot remove their finalizer", async () => {
    const created = await api.create("/api/v1/namespaces", { metadata: { name: "team" } });
    expect(created).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "team" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    const { body } = await api.merge("/api/v1/namespaces/team", { spec: { finalizers: [] } });
    expect(body.spec).toEqual({ finalizers: ["kubernetes"] });
    expect((await api.send("POST", "/api/v1/namespaces", { metadata: { name: "a.b" } })).status).toBe(422);
  });

  test("cluster-scoped kinds are not served in a namespace, and namespaced kinds only there", async () => {
    expect((await api.send("GET", "/api/v1/namespaces/default/nodes")).status).toBe(404);
    expect((await api.send("GET", "/api/v1/pods/p")).status).toBe(404);
  });
});
