import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { nothingMeasured, type PodMetrics, usageOf, usageTable } from "./top.ts";

const sandbox = (name: string, annotations = {}): Sandbox =>
  ({ metadata: { namespace: "default", name, annotations } }) as unknown as Sandbox;
const metrics = (name: string, ...usage: { cpu: string; memory: string }[]): PodMetrics => ({
  metadata: { namespace: "default", name },
  containers: usage.map((one) => ({ usage: one })),
});
const pod = (name: string, ...limits: object[]): Pod =>
  ({
    metadata: { namespace: "default", name },
    spec: { containers: limits.map((one) => ({ resources: { limits: one } })) },
  }) as unknown as Pod;

const rows = usageOf(
  [sandbox("web"), sandbox("adopted", { "agents.x-k8s.io/pod-name": "pool-1" }), sandbox("asleep")],
  [
    metrics("web", { cpu: "18352213n", memory: "20Mi" }, { cpu: "2m", memory: "1Ki" }),
    metrics("pool-1", { cpu: "0", memory: "512Ki" }),
    metrics("asleep-no-more", { cpu: "1", memory: "1" }),
  ],
  [pod("web", { cpu: "1.5", memory: "1Gi" }, {}), pod("pool-1", { cpu: "500m", memory: "64Mi" })],
);

test("adds up containers; a Pod has a limit if all its containers have one", () => {
  expect(rows).toEqual([
    {
      namespace: "default",
      name: "web",
      cpuMillis: 21,
      memoryBytes: 20 * 2 ** 20 + 1024,
      cpuLimitMillis: undefined,
      memoryLimitBytes: undefined,
    },
    {
      namespace: "default",
      name: "adopted",
      cpuMillis: 0,
      memoryBytes: 512 * 1024,
      cpuLimitMillis: 500,
      memoryLimitBytes: 64 * 2 ** 20,
    },
  ]);
});

test("prints the units of kubectl", () => {
  expect(usageTable(rows, false).split("\n")).toEqual([
    "NAME      CPU(CORES)   CPU LIMIT   MEMORY(BYTES)   MEMORY LIMIT",
    "web       21m          <none>      21Mi            <none>",
    "adopted   0m           500m        1Mi             64Mi",
  ]);
});

test("a sandbox that has just started is not called missing", () => {
  const inPhase = (name: string, phase: string): Pod => ({ ...pod(name), status: { phase } });
  const adopted = sandbox("mine", { "agents.x-k8s.io/pod-name": "pool-1" });
  expect(nothingMeasured([adopted], [inPhase("pool-1", "Running")])).toMatch("not measured yet");
  expect(nothingMeasured([sandbox("web")], [inPhase("web", "Pending"), inPhase("other", "Running")])).toBe(
    "No running sandboxes found",
  );
});
