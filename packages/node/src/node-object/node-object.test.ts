import { expect, test } from "vitest";
import { type MachineFacts, nodeObject } from "./node-object.ts";
import type { Room } from "./pressure.ts";

const facts: MachineFacts & { readonly room: Room } = {
  name: "box",
  hostname: "machine",
  address: "192.0.2.1",
  cpus: 2,
  memoryBytes: 2 ** 32,
  diskBytes: 2 ** 40,
  pods: 10,
  allocatable: { memoryBytes: 2 ** 31, diskBytes: 2 ** 39 },
  architecture: "amd64",
  kernel: "6.1",
  osImage: "Debian",
  machineId: "m",
  bootId: "b",
  runtimeVersion: "gvisor://1",
  version: "v1",
  sharedKernel: undefined,
  room: { memoryBytes: 2 ** 30, diskBytes: 2 ** 35, diskTotalBytes: 2 ** 36, processes: 1, mostProcesses: 100 },
};
const conditions = (node: ReturnType<typeof nodeObject>): (string | undefined)[][] =>
  (node.status?.conditions ?? []).map((each) => [each.type, each.status, each.reason, each.lastTransitionTime]);

test("the Node has its capacity and conditions", () => {
  const node = nodeObject(facts, undefined, 0);
  expect(node.status?.capacity).toEqual({
    cpu: "2",
    memory: "4194304Ki",
    pods: "10",
    "ephemeral-storage": "1073741824Ki",
  });
  expect(conditions(node)).toEqual([
    ["Ready", "True", "NodeReady", "1970-01-01T00:00:00Z"],
    ["MemoryPressure", "False", "KubeletHasSufficientMemory", "1970-01-01T00:00:00Z"],
    ["DiskPressure", "False", "KubeletHasNoDiskPressure", "1970-01-01T00:00:00Z"],
    ["PIDPressure", "False", "KubeletHasSufficientPID", "1970-01-01T00:00:00Z"],
    ["SharedKernel", "False", "OwnKernel", "1970-01-01T00:00:00Z"],
  ]);
});

test("Pods may request what the budget leaves, or what the operator offers", () => {
  const allocatable = { cpu: "2", memory: "2097152Ki", pods: "10", "ephemeral-storage": "536870912Ki" };
  expect(nodeObject(facts, undefined, 0).status?.allocatable).toEqual(allocatable);
  const offering = nodeObject({ ...facts, offered: { cpu: "16" } }, undefined, 0);
  expect(offering.status?.allocatable).toEqual({ ...allocatable, cpu: "16" });
});

test("a condition keeps its transition time until it changes", () => {
  const before = nodeObject(facts, undefined, 0);
  expect(nodeObject(facts, before, 5000)).toEqual(before);
  const risk = { reason: "GVisorAbsent", message: "not found" } as const;
  const after = conditions(nodeObject({ ...facts, sharedKernel: risk }, before, 5000));
  expect(after.filter(([, , , time]) => time !== "1970-01-01T00:00:00Z")).toEqual([
    ["SharedKernel", "True", "GVisorAbsent", "1970-01-01T00:00:05Z"],
  ]);
});
