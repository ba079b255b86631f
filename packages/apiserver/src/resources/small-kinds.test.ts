import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

const nodes = "/api/v1/nodes";
const priorityClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";
const storageClasses = "/apis/storage.k8s.io/v1/storageclasses";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const events = "/api/v1/namespaces/default/events";
const services = "/api/v1/namespaces/default/services";
const volumes = "/api/v1/persistentvolumes";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const taint = { key: "a", value: "b", effect: "NoSchedule" };
const timed = { eventTime: "2026-01-01T00:00:00.000000Z", involvedObject: { namespace: "default" } };

describe("a new object", () => {
  test.for<[string, object, string[]]>([
    [nodes, { spec: { taints: [{ ...taint, effect: "Never" }] } }, ["metadata.taints[0].effect"]],
    [nodes, { spec: { taints: [taint, taint] } }, ["metadata.taints[1]"]],
    [
      nodes,
      { spec: { taints: [{ ...taint, key: "a b", value: "c d" }] } },
      ["metadata.taints[0].key", "metadata.taints[0].value"],
    ],
    [priorityClasses, { value: 2_000_000_000 }, ["value"]],
    [priorityClasses, { value: 1, preemptionPolicy: "Politely" }, ["preemptionPolicy"]],
    [priorityClasses, { metadata: { name: "system-mine" }, value: 1 }, ["metadata.name"]],
    [storageClasses, { provisioner: "example.com/disk", volumeBindingMode: "Later" }, ["volumeBindingMode"]],
    [storageClasses, { provisioner: "no name" }, ["provisioner"]],
    [leases, { spec: { leaseTransitions: -1 } }, ["spec.leaseTransitions"]],
    [leases, { spec: { preferredHolder: "a" } }, ["spec.preferredHolder"]],
    [events, { involvedObject: { namespace: "elsewhere" } }, ["involvedObject.namespace"]],
    [
      events,
      timed,
      ["reportingComponent", "reportingComponent", "reportingComponent", "reportingInstance", "action", "reason"],
    ],
    [
      volumes,
      { spec: { accessModes: ["ReadWriteOnce"], hostPath: { path: "/" } } },
      ["spec.capacity", "spec.capacity"],
    ],
  ])("at %s with %j is refused for %j", async ([path, body, expected]) => {
    const answer = await api.send("POST", path, { metadata: { name: "wrong" }, ...body });
    expect(answer).toMatchObject({ status: 422 });
    expect(answer.body.details.causes.map(({ field }: { field: string }) => field)).toEqual(expected);
  });

  test("can be one of Kubernetes' system priority classes", async () => {
    const critical = { metadata: { name: "system-node-critical" }, value: 2_000_001_000 };
    expect((await api.send("POST", priorityClasses, critical)).status).toBe(201);
  });
});

describe("a status", () => {
  test("of a Service has load balancer addresses only if its type is LoadBalancer", async () => {
    const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
    await api.create(services, { metadata: { name: "plain" }, spec: { ports: [{ port: 80 }] } });
    expect((await api.merge(`${services}/plain/status`, { status })).status).toBe(422);
    await api.create(services, {
      metadata: { name: "balanced" },
      spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
    });
    expect((await api.merge(`${services}/balanced/status`, { status })).status).toBe(200);
    const wrong = { loadBalancer: { ingress: [{ ip: "here", hostname: "Not A Name" }] } };
    expect((await api.merge(`${services}/balanced/status`, { status: wrong })).body.details.causes).toHaveLength(2);
  });

  test("of a volume has the time of its last phase transition", async () => {
    const spec = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/x" } };
    await api.create(volumes, { metadata: { name: "v" }, spec });
    api.clock.atMs += 60_000;
    const { body } = await api.send("PUT", `${volumes}/v/status`, {
      metadata: { name: "v", labels: { taken: "along" } },
      status: { phase: "Available" },
    });
    expect(body).toMatchObject({
      metadata: { labels: { taken: "along" } },
      spec,
      status: {
        phase: "Available",
        lastPhaseTransitionTime: new Date(api.clock.atMs).toISOString().replace(".000", ""),
      },
    });
  });
});
