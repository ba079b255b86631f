import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { reportSandboxes } from "../commands/doctor.ts";
import { countRuntimes, runningSandboxes } from "./running-sandboxes.ts";

const sandbox = (namespace: string, name: string, annotations = {}): Sandbox =>
  ({ metadata: { namespace, name, annotations } }) as unknown as Sandbox;
const pod = (namespace: string, name: string, runtime: string): Pod =>
  ({
    metadata: { namespace, name },
    status: { containerStatuses: [{ containerID: `${runtime}://1`, state: { running: {} } }] },
  }) as unknown as Pod;
const kernels = new Map([["runc", "shared"]]);

const running = runningSandboxes(
  [
    sandbox("b", "two"),
    sandbox("a", "one"),
    sandbox("a", "asleep"),
    sandbox("a", "x", { "agents.x-k8s.io/pod-name": "p" }),
  ],
  [pod("a", "one", "gvisor"), pod("b", "two", "runc"), pod("a", "p", "gvisor"), pod("a", "no-sandbox", "runc")],
);

test("lists running sandboxes by namespace and name", () => {
  expect(running.map(({ namespace, name, runtime }) => `${namespace}/${name} ${runtime}`)).toEqual([
    "a/one gvisor",
    "a/x gvisor",
    "b/two runc",
  ]);
});

test("counts sandboxes by runtime, and marks a shared kernel", () => {
  expect(countRuntimes(running, kernels)).toBe("1 runc (shared kernel), 2 gvisor");
  expect(countRuntimes([], kernels)).toBe("no running sandboxes");
});

test("doctor lists each sandbox with its runtime", () => {
  expect(reportSandboxes(running, kernels).split("\n")).toEqual([
    "",
    "NAMESPACE   SANDBOX   RUNTIME",
    "a           one       gvisor",
    "a           x         gvisor",
    "b           two       runc (shared kernel)",
    "",
    "Running: 1 runc (shared kernel), 2 gvisor",
  ]);
});

test("doctor lists at most a hundred sandboxes", () => {
  const many = Array.from({ length: 150 }, (_, index) => ({ namespace: "n", name: `s${index}`, runtime: "gvisor" }));
  expect(reportSandboxes(many, kernels)).toContain("\nand 50 more\n");
});
