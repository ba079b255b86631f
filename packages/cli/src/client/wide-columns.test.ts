import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { formatTable, type Table } from "./table.ts";
import { widen } from "./wide-columns.ts";

const podOf = (name: string, containerID: string, state: object = { running: {} }): Pod =>
  ({
    metadata: { namespace: "n", name },
    spec: { containers: [] },
    status: { phase: "Running", containerStatuses: [{ name: "main", containerID, state, restartCount: 0 }] },
  }) as unknown as Pod;

const rowOf = (
  name: string,
  { annotations = {}, ...more }: { annotations?: Record<string, string>; spec?: object; status?: object } = {},
) => ({
  cells: [name],
  object: { metadata: { namespace: "n", name, annotations }, spec: {}, ...more },
});

const kernels = new Map([
  ["gvisor", "own"],
  ["debian-runc", "shared"],
]);
const table = (rows: Table["rows"]): Table => ({ columnDefinitions: [{ name: "Name" }], rows });
const sandboxes = { apiVersion: "agents.x-k8s.io/v1beta1", plural: "sandboxes" };
const ready = (status: string, message: string): Sandbox["status"] =>
  ({ conditions: [{ type: "Ready", status, reason: "DependenciesNotReady", message }] }) as Sandbox["status"] & object;

test("a wide table of sandboxes has runtime, depth and the reason why one is not ready", () => {
  const rows = [
    rowOf("safe", { spec: { suspendPolicy: { depth: "Memory" } }, status: ready("True", "Pod is Ready") ?? {} }),
    rowOf("taken", { annotations: { "agents.x-k8s.io/pod-name": "pool-1" } }),
    rowOf("broken", { status: ready("False", "Pod is Running but not Ready; its image cannot be pulled") ?? {} }),
    rowOf("asleep", { spec: { operatingMode: "Suspended" }, status: { suspension: { depth: "Filesystem" } } }),
    rowOf("changed", {
      status: {
        conditions: [
          { type: "Ready", status: "True", reason: "DependenciesReady", message: "Pod is Ready" },
          { type: "PodOutdated", status: "True", reason: "PodTemplateChanged", message: "The Pod runs an older spec" },
        ],
      },
    }),
  ];
  const pods = [podOf("safe", "gvisor://1"), podOf("pool-1", "debian-runc://2")];
  const wide = widen(table(rows), sandboxes, { pods, kernels });
  expect(formatTable(wide, { wide: true }).split("\n")).toEqual([
    "NAME      RUNTIME                       DEPTH        WHY",
    "safe      gvisor                        Memory       <none>",
    "taken     debian-runc (shared kernel)   <default>    <none>",
    "broken    <none>                        <default>    its image cannot be pulled",
    "asleep    <none>                        Filesystem   resume it with: agent-sandbox resume asleep -n n",
    "changed   <none>                        <default>    The Pod runs an older spec",
  ]);
  expect(formatTable(wide).split("\n")[0]).toBe("NAME");
});

test("without the right to list Pods there is no runtime, and other resources are left alone", () => {
  const heads = (resource: { apiVersion: string; plural: string }, pods?: Pod[]): string | undefined =>
    formatTable(widen(table([rowOf("a")]), resource, { pods, kernels }), { wide: true }).split("\n")[0];
  expect(heads(sandboxes)).toBe("NAME   DEPTH       WHY");
  expect(heads({ apiVersion: "v1", plural: "pods" }, [])).toBe("NAME   RUNTIME");
  expect(heads({ apiVersion: "v1", plural: "services" }, [])).toBe("NAME");
  expect(heads({ apiVersion: "example.com/v1", plural: "sandboxes" }, [])).toBe("NAME");
});
