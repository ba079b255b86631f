import type { Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { forkOf } from "./fork.ts";
import { describeSnapshot, snapshotName, snapshotSpec, snapshotTable } from "./snapshot.ts";
import { parseDepth } from "./suspend.ts";

const condition = { reason: "x", message: "", lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 };
const snapshot = (name: string, createdAt: number, over: Partial<SandboxSnapshot> = {}): SandboxSnapshot => ({
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  metadata: { name, namespace: "default", creationTimestamp: new Date(createdAt).toISOString() },
  spec: { sandboxRef: { name: "web" } },
  ...over,
});
const ready = snapshot("web-2", 60_000, {
  status: {
    conditions: [{ type: "Ready", status: "True", ...condition }],
    depth: "Memory",
    sizeBytes: 3 * 2 ** 20,
    pauseMilliseconds: 41,
    sourceName: "claimed",
  },
});
const failed = snapshot("web-1", 0, { status: { conditions: [{ type: "Failed", status: "True", ...condition }] } });

test("lists the oldest snapshot first", () => {
  expect(snapshotTable([ready, failed, snapshot("web-3", 90_000)], 100_000).split("\n")).toEqual([
    "NAME    SANDBOX   DEPTH    SIZE     STATE     AGE",
    "web-1   web       <none>   <none>   Failed    100s",
    "web-2   claimed   Memory   3.0MiB   Ready     40s",
    "web-3   web       <none>   <none>   Pending   10s",
  ]);
  expect(snapshotTable([ready], 100_000, true)).toContain("default     web-2");
});

test("describes a snapshot", () => {
  expect(describeSnapshot(ready)).toBe("depth Memory, 3.0MiB, paused 41ms");
  expect(describeSnapshot(failed)).toBe("");
});

test("names a snapshot after its sandbox and the time", () => {
  expect(snapshotName("web", new Date("2026-09-05T14:30:59.123Z"))).toBe("web-20260905-143059");
});

test("the flags make the spec of a snapshot", () => {
  expect(snapshotSpec("web", {})).toEqual({ sandboxRef: { name: "web" } });
  expect(snapshotSpec("web", { depth: "memory", excludeVolumes: true, ttl: "1h", retain: true })).toEqual({
    sandboxRef: { name: "web" },
    depth: "Memory",
    volumes: "Exclude",
    ttlSecondsAfterCreation: 3600,
    deletionPolicy: "Retain",
  });
});

test.for([
  [{ depth: "Volumes" }, "a snapshot has depth Filesystem or Memory"],
  [{ depth: "everything" }, 'Cannot use depth "everything": write Volumes, Filesystem, Memory'],
  [{ ttl: "0s" }, "less than a second"],
  [{ ttl: "soon" }, 'Cannot read duration "soon"'],
] as const)("%j is refused", ([options, message]) => {
  expect(() => snapshotSpec("web", options)).toThrow(message);
});

test("a depth can be written in lower case", () => {
  expect(parseDepth("filesystem")).toBe("Filesystem");
});

test("a fork has the spec of its source, and its own name and lifetime", () => {
  const podTemplate = { spec: { containers: [{ name: "main", image: "host" }] } };
  const source: Sandbox = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "web", uid: "1", labels: { app: "web" }, annotations: { a: "b" }, finalizers: ["f"] },
    spec: { podTemplate, operatingMode: "Suspended", shutdownTime: "2026-01-01T00:00:00Z" },
    status: { podIPs: ["10.0.0.1"] },
  };
  expect(forkOf(source, { name: "web-2", namespace: "default", snapshot: "s" })).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "web-2", namespace: "default" },
    spec: { podTemplate, restoreFrom: { snapshotRef: { name: "s" } } },
  });
});
