import type { Condition, Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { forkOf, snapshotState, sourceOf } from "./snapshot-state.ts";

const condition = (type: string, status: "True" | "False", message = ""): Condition => ({
  type,
  status,
  reason: "Reason",
  message,
  lastTransitionTime: "",
});
const snapshot = (conditions: Condition[], more: object = {}): SandboxSnapshot => ({
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  metadata: { name: "snapshot" },
  spec: { sandboxRef: { name: "box" } },
  status: { conditions, ...more },
});

test.for([
  ["is being taken without conditions", snapshot([]), "Taking", undefined],
  ["is ready", snapshot([condition("Ready", "True")], { restorable: true }), "Ready", undefined],
  ["failed", snapshot([condition("Failed", "True", "no room")]), "Failed", "no room"],
  [
    "cannot be restored by this runtime",
    snapshot([condition("Ready", "True"), condition("Restorable", "False", "another version")], { restorable: false }),
    "Not restorable",
    "another version",
  ],
] as const)("a snapshot that %s", ([, object, title, why]) => {
  expect(snapshotState(object)).toMatchObject({ title, ...(why !== undefined && { why }) });
});

test("the source is the one that was captured, not the one that was asked for", () => {
  expect(sourceOf(snapshot([]))).toBe("box");
  expect(sourceOf(snapshot([], { sourceName: "other" }))).toBe("other");
});

test("a fork has the spec of its source without its lifetime, mode, labels and status", () => {
  const source: Sandbox = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "box", namespace: "team", uid: "1", labels: { owner: "alice" } },
    spec: { runtime: "Injected", operatingMode: "Suspended", shutdownTime: "2026-01-01T00:00:00Z" },
    status: { nodeName: "node" },
  };
  expect(forkOf(source, { name: "fork", snapshot: "snapshot" })).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "fork", namespace: "team" },
    spec: { runtime: "Injected", restoreFrom: { snapshotRef: { name: "snapshot" } } },
  });
});
