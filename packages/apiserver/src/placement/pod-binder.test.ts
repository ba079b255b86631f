import { describe, expect, test } from "vitest";
import { TestApi, type TestObject } from "../testing/test-api.test.support.ts";
import { placementProblem } from "./placement-problem.ts";

const nodes = "/api/v1/nodes";
const pods = "/api/v1/namespaces/default/pods";
const pod = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: "main", image: "busybox:1" }], ...spec },
});
const nodeOf = ({ spec }: TestObject): unknown => spec?.["nodeName"];

async function startBox(): Promise<TestApi> {
  const api = await TestApi.start({ nodeName: "box" });
  await api.create(nodes, { metadata: { name: "box" } });
  return api;
}

/** Watches the Pod until it is bound to the node. */
async function bound(api: TestApi, name: string): Promise<TestObject> {
  const watching = await api.watch(`${pods}?watch=true&fieldSelector=metadata.name=${name},spec.nodeName=box`);
  const { object } = await watching.next();
  watching.stop();
  return object;
}

describe("a Pod", () => {
  test("is bound to the only node when it is created", async () => {
    await using api = await startBox();
    expect(nodeOf(await api.create(pods, pod("p")))).toBe("box");
  });

  test("stays pending with a reason while the node is cordoned, and is bound after an uncordon", async () => {
    await using api = await startBox();
    await api.merge(`${nodes}/box`, { spec: { unschedulable: true } });
    const waiting = await api.create(pods, pod("p"));
    const why =
      "0/1 nodes are available: 1 node(s) were unschedulable. " +
      "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    expect(nodeOf(waiting)).toBeUndefined();
    expect(waiting.status).toMatchObject({
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: why }],
    });
    const events = await api.watch("/api/v1/namespaces/default/events?watch=true");
    expect((await events.next()).object).toMatchObject({
      reason: "FailedScheduling",
      message: why,
      source: { component: "default-scheduler" },
      involvedObject: { name: "p" },
    });
    events.stop();

    await api.merge(`${nodes}/box`, { spec: { unschedulable: null } });
    expect((await bound(api, "p")).status).toMatchObject({ conditions: [{ type: "PodScheduled", status: "True" }] });
  });

  test("is bound to a tainted node only if it tolerates the taint, or when the taint is removed", async () => {
    await using api = await startBox();
    await api.merge(`${nodes}/box`, { spec: { taints: [{ key: "a", value: "b", effect: "NoSchedule" }] } });
    expect(nodeOf(await api.create(pods, pod("intolerant")))).toBeUndefined();
    const tolerant = { tolerations: [{ key: "a", operator: "Exists" }] };
    expect(nodeOf(await api.create(pods, pod("tolerant", tolerant)))).toBe("box");
    await api.merge(`${nodes}/box`, { spec: { taints: null } });
    await bound(api, "intolerant");
  });

  test("is bound when its scheduling gates are removed", async () => {
    await using api = await startBox();
    const gates = [{ name: "example.com/quota" }];
    const waiting = await api.create(pods, pod("p", { schedulingGates: gates }));
    expect(waiting.status).toMatchObject({ conditions: [{ reason: "SchedulingGated" }] });
    await api.merge(`${nodes}/box`, { spec: { taints: [{ key: "a", effect: "PreferNoSchedule" }] } });
    await api.merge(`${pods}/p`, { spec: { schedulingGates: [] } });
    await bound(api, "p");
  });

  test("that is deleted while it is pending is not bound later", async () => {
    await using api = await startBox();
    await api.merge(`${nodes}/box`, { spec: { unschedulable: true } });
    await api.create(pods, pod("p"));
    await api.send("DELETE", `${pods}/p`);
    await api.create(pods, pod("q"));
    await api.merge(`${nodes}/box`, { spec: { unschedulable: null } });
    await bound(api, "q");
    expect(await api.names(pods)).toEqual(["q"]);
  });
});

describe("placementProblem()", () => {
  const box = (spec: object) => ({ apiVersion: "v1", kind: "Node", metadata: { name: "box" }, spec });
  const tainted = box({ taints: [{ key: "a", value: "b", effect: "NoExecute" }] });
  const untolerated =
    "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}. " +
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
  test.for([
    ["accepts a node that has no Node object yet", [], undefined, undefined],
    ["accepts a node without taints", [], box({}), undefined],
    ["ignores PreferNoSchedule", [], box({ taints: [{ key: "a", effect: "PreferNoSchedule" }] }), undefined],
    ["names an untolerated taint", [], tainted, untolerated],
    ["compares keys", [{ key: "c", operator: "Exists" }], tainted, untolerated],
    ["compares values", [{ key: "a", value: "c" }], tainted, untolerated],
    ["compares effects", [{ key: "a", value: "b", effect: "NoSchedule" }], tainted, untolerated],
    ["accepts a tolerated taint", [{ key: "a", operator: "Equal", value: "b" }], tainted, undefined],
    ["accepts every taint if the toleration has no key", [{ operator: "Exists" }], tainted, undefined],
    [
      "accepts a cordoned node if that is tolerated",
      [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }],
      box({ unschedulable: true }),
      undefined,
    ],
  ] as const)("%s", ([, tolerations, node, expected]) => {
    expect(placementProblem({ namespace: "default", spec: { tolerations } }, node, undefined)).toBe(expected);
  });
});
