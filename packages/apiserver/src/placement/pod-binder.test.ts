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

/** The Pod once it has a node, by watching it. */
async function bound(api: TestApi, name: string): Promise<TestObject> {
  const watching = await api.watch(`${pods}?watch=true&fieldSelector=metadata.name=${name},spec.nodeName=box`);
  const { object } = await watching.next();
  watching.stop();
  return object;
}

describe("a Pod", () => {
  test("is on the only node from the start", async () => {
    await using api = await startBox();
    expect(nodeOf(await api.create(pods, pod("p")))).toBe("box");
  });

  test("waits while the node is cordoned, says why, and goes there when it is not any more", async () => {
    await using api = await startBox();
    await api.merge(`${nodes}/box`, { spec: { unschedulable: true } });
    const waiting = await api.create(pods, pod("p"));
    const why = "0/1 nodes are available: 1 node(s) were unschedulable.";
    expect(nodeOf(waiting)).toBeUndefined();
    expect(waiting.status).toMatchObject({
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: why }],
    });
    const told = await api.watch("/api/v1/namespaces/default/events?watch=true");
    expect((await told.next()).object).toMatchObject({
      reason: "FailedScheduling",
      message: why,
      involvedObject: { name: "p" },
    });
    told.stop();

    await api.merge(`${nodes}/box`, { spec: { unschedulable: null } });
    expect((await bound(api, "p")).status).toMatchObject({ conditions: [{ type: "PodScheduled", status: "True" }] });
  });

  test("waits for a taint to be taken off, or bears it", async () => {
    await using api = await startBox();
    await api.merge(`${nodes}/box`, { spec: { taints: [{ key: "a", value: "b", effect: "NoSchedule" }] } });
    expect(nodeOf(await api.create(pods, pod("shy")))).toBeUndefined();
    const bears = { tolerations: [{ key: "a", operator: "Exists" }] };
    expect(nodeOf(await api.create(pods, pod("bold", bears)))).toBe("box");
    await api.merge(`${nodes}/box`, { spec: { taints: null } });
    await bound(api, "shy");
  });

  test("waits for its gates to be opened", async () => {
    await using api = await startBox();
    const gates = [{ name: "example.com/quota" }];
    const waiting = await api.create(pods, pod("p", { schedulingGates: gates }));
    expect(waiting.status).toMatchObject({ conditions: [{ reason: "SchedulingGated" }] });
    await api.merge(`${nodes}/box`, { spec: { taints: [{ key: "a", effect: "PreferNoSchedule" }] } });
    await api.merge(`${pods}/p`, { spec: { schedulingGates: [] } });
    await bound(api, "p");
  });

  test("that goes while it waits is forgotten", async () => {
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

describe("what is in the way", () => {
  const box = (spec: object) => ({ apiVersion: "v1", kind: "Node", metadata: { name: "box" }, spec });
  const tainted = box({ taints: [{ key: "a", value: "b", effect: "NoExecute" }] });
  const untolerated = "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.";
  test.for([
    ["nothing on a node that is not known yet", [], undefined, undefined],
    ["nothing on a plain node", [], box({}), undefined],
    ["nothing that is a wish only", [], box({ taints: [{ key: "a", effect: "PreferNoSchedule" }] }), undefined],
    ["a taint", [], tainted, untolerated],
    ["a taint, for who bears another", [{ key: "c", operator: "Exists" }], tainted, untolerated],
    ["a taint, for who bears another value", [{ key: "a", value: "c" }], tainted, untolerated],
    ["a taint, for who bears another effect", [{ key: "a", value: "b", effect: "NoSchedule" }], tainted, untolerated],
    ["no taint for who bears it", [{ key: "a", operator: "Equal", value: "b" }], tainted, undefined],
    ["no taint for who bears everything", [{ operator: "Exists" }], tainted, undefined],
    [
      "no cordon for who bears it",
      [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }],
      box({ unschedulable: true }),
      undefined,
    ],
  ] as const)("is %s", ([, tolerations, node, expected]) => {
    expect(placementProblem({ tolerations }, node)).toBe(expected);
  });
});
