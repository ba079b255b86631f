import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TestApi, type TestObject } from "../testing/test-api.test.support.ts";

type StartOptions = Parameters<typeof TestApi.start>[0];

const podsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;
const pods = podsOf("default");
const none = "0/1 nodes are available:";
const noVictims = `preemption: ${none} 1 No preemption victims found for incoming pod.`;
const notHelpful = `preemption: ${none} 1 Preemption is not helpful for scheduling.`;

const pod = (name: string, requests: object = {}, spec: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: "main", image: "busybox:1", resources: { requests } }], ...spec },
});
const nodeOf = ({ spec }: TestObject): unknown => spec?.["nodeName"];
const messageOf = ({ status }: TestObject): unknown =>
  (status?.["conditions"] as { type: string; message?: string }[] | undefined)?.find(
    ({ type }) => type === "PodScheduled",
  )?.message;

/** A box with 2 CPUs, 4 GiB of memory, 10 GiB of disk and room for 8 Pods. */
async function startBox(options: StartOptions = {}, allocatable: object = {}): Promise<TestApi> {
  const api = await TestApi.start({ nodeName: "box", namespacePercent: { pods: 100 }, ...options });
  const whole = { cpu: "2", memory: "4Gi", "ephemeral-storage": "10Gi", pods: "8", ...allocatable };
  await api.create("/api/v1/nodes", { metadata: { name: "box" }, status: { capacity: whole, allocatable: whole } });
  return api;
}

async function bound(api: TestApi, name: string): Promise<void> {
  const watching = await api.watch(`${pods}?watch=true&fieldSelector=metadata.name=${name},spec.nodeName=box`);
  await watching.next();
  watching.stop();
}

describe("a Pod whose requests do not fit", () => {
  test.for([
    ["memory", { memory: "900Gi" }, `${none} 1 Insufficient memory. ${notHelpful}`],
    ["cpu and memory", { cpu: "3", memory: "5Gi" }, `${none} 1 Insufficient cpu, 1 Insufficient memory. ${notHelpful}`],
    ["disk", { "ephemeral-storage": "1Ti" }, `${none} 1 Insufficient ephemeral-storage. ${notHelpful}`],
    ["devices", { "example.com/gpu": "1" }, `${none} 1 Insufficient example.com/gpu. ${notHelpful}`],
  ] as const)("stays pending with kube-scheduler's message: %s", async ([, requests, message]) => {
    await using api = await startBox();
    const made = await api.create(pods, pod("p", requests, { containers: [container(requests)] }));
    expect(nodeOf(made)).toBeUndefined();
    expect(made.status).toMatchObject({ phase: "Pending", conditions: [{ reason: "Unschedulable", message }] });
    const events = await api.watch("/api/v1/namespaces/default/events?watch=true");
    expect((await events.next()).object).toMatchObject({
      reason: "FailedScheduling",
      message,
      source: { component: "default-scheduler" },
    });
    events.stop();
  });

  test("is bound when another Pod is deleted, the longest waiting first", async () => {
    await using api = await startBox();
    await api.create(pods, pod("first", { memory: "3Gi" }));
    const second = await api.create(pods, pod("second", { memory: "2Gi" }));
    expect(messageOf(second)).toBe(`${none} 1 Insufficient memory. ${noVictims}`);
    await api.create(pods, pod("third", { memory: "3Gi" }));
    await api.send("DELETE", `${pods}/first?gracePeriodSeconds=0`);
    await bound(api, "second");
    expect(nodeOf(await api.get(`${pods}/third`))).toBeUndefined();
  });

  test("is bound when another Pod has ended", async () => {
    await using api = await startBox();
    await api.create(pods, pod("job", { cpu: "2" }));
    await api.create(pods, pod("p", { cpu: "1" }));
    await api.merge(`${pods}/job/status`, { status: { phase: "Succeeded" } });
    await bound(api, "p");
    expect(nodeOf(await api.get(`${pods}/p`))).toBe("box");
  });

  test("is bound when the node has more", async () => {
    await using api = await startBox();
    await api.create(pods, pod("p", { cpu: "3" }));
    const status = { allocatable: { cpu: "4", memory: "4Gi", pods: "8" } };
    await api.merge("/api/v1/nodes/box/status", { status });
    await bound(api, "p");
    expect(nodeOf(await api.get(`${pods}/p`))).toBe("box");
  });

  test("does not keep others out", async () => {
    await using api = await startBox();
    await api.create(pods, pod("large", { memory: "900Gi" }));
    expect(nodeOf(await api.create(pods, pod("small", { memory: "4Gi" })))).toBe("box");
    expect(nodeOf(await api.create(pods, pod("without-requests")))).toBe("box");
  });
});

const container = (requests: object): object => ({
  name: "main",
  image: "busybox:1",
  // Devices need a limit that equals the request.
  resources: { requests, limits: "example.com/gpu" in requests ? requests : {} },
});

test("of Pods that are created at the same moment for the last room, one gets it", async () => {
  await using api = await startBox();
  const made = await Promise.all(["a", "b", "c"].map((name) => api.create(pods, pod(name, { memory: "3Gi" }))));
  expect(made.map(nodeOf).filter((node) => node === "box")).toHaveLength(1);
});

test("a node that is full of Pods accepts no more", async () => {
  await using api = await startBox({}, { pods: "1" });
  await api.create(pods, pod("a"));
  expect(messageOf(await api.create(pods, pod("b")))).toBe(`${none} 1 Too many pods. ${noVictims}`);
});

test("a namespace gets only its part of the node", async () => {
  await using api = await startBox({ namespacePercent: { pods: 50, memory: 50 } });
  await api.create("/api/v1/namespaces", { metadata: { name: "other" } });
  const large = await api.create(pods, pod("large", { memory: "3Gi" }));
  expect(messageOf(large)).toBe(`${none} 1 Insufficient memory for the namespace. ${notHelpful}`);
  for (const name of ["a", "b", "c", "d"]) expect(nodeOf(await api.create(pods, pod(name)))).toBe("box");
  expect(messageOf(await api.create(pods, pod("e")))).toBe(`${none} 1 Too many pods for the namespace. ${noVictims}`);
  expect(nodeOf(await api.create(podsOf("other"), pod("a", { memory: "2Gi" })))).toBe("box");
});

test("a Pod that names the node itself is rejected as by a kubelet, and takes no room", async () => {
  await using api = await startBox();
  const { status } = await api.create(pods, pod("bypass", { memory: "900Gi" }, { nodeName: "box" }));
  expect(status).toMatchObject({
    phase: "Failed",
    reason: "OutOfmemory",
    message:
      "Pod was rejected: Node didn't have enough resource: memory, requested: 966367641600, used: 0, capacity: 4294967296",
  });
  expect(nodeOf(await api.create(pods, pod("p", { memory: "4Gi" })))).toBe("box");
});

test("after a restart, running Pods keep their room and waiting Pods still wait for it", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "placement-"));
  try {
    {
      await using api = await startBox({ dataDir });
      await api.create(pods, pod("runs", { memory: "3Gi" }));
      await api.create(pods, pod("waits", { memory: "2Gi" }));
    }
    await using api = await TestApi.start({ nodeName: "box", dataDir });
    expect(messageOf(await api.create(pods, pod("new", { memory: "2Gi" })))).toContain("Insufficient memory");
    await api.send("DELETE", `${pods}/runs?gracePeriodSeconds=0`);
    await bound(api, "waits");
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
