import type { Pod } from "@agent-sandbox/api";
import type { Transport } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { readKernels, runtimeOf } from "./pod-runtimes.ts";

const podOf = (name: string, containerID: string, runtimeClassName?: string, running = true): Pod =>
  ({
    metadata: { namespace: "n", name },
    spec: { containers: [], ...(runtimeClassName !== undefined && { runtimeClassName }) },
    status: {
      containerStatuses: [{ name: "main", containerID, state: running ? { running: {} } : { terminated: {} } }],
    },
  }) as unknown as Pod;

const answering = (status: number, body: object): Transport =>
  ({ send: async () => ({ status, headers: {}, body }) }) as unknown as Transport;

test.for<[string, Pod, string | undefined]>([
  ["the runtime that its node names", podOf("a", "gvisor://x"), "gvisor"],
  ["nothing when no container runs", podOf("a", "runc://x", undefined, false), undefined],
  ["nothing before it has a status", { metadata: { name: "a" } }, undefined],
  ["its class in a cluster", podOf("a", "containerd://x", "kata"), "kata"],
  ["what a cluster runs without a class", podOf("a", "containerd://x"), "containerd"],
])("a Pod runs with %s", ([, pod, expected]) => {
  expect(runtimeOf(pod)).toBe(expected);
});

test("reads from the RuntimeClasses which share the kernel, or assumes the usual names if that is forbidden", async () => {
  const items = [
    { metadata: { name: "debian-runc", annotations: { "agents.x-k8s.io/kernel": "shared" } } },
    { metadata: { name: "kata" } },
  ];
  expect([...(await readKernels(answering(200, { items })))]).toEqual([
    ["debian-runc", "shared"],
    ["kata", ""],
  ]);
  expect([...(await readKernels(answering(403, { message: "no" })))]).toEqual([
    ["gvisor", "own"],
    ["runc", "shared"],
  ]);
});
