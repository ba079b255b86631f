import type { SandboxSnapshot } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { decideSnapshot, type ObservedSnapshot, snapshotFinalizer } from "./decide-snapshot.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";

const second = 1000;
const created = Date.UTC(2026, 0, 2, 3, 4, 5);
const box = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "box", uid: "b" };

const stored: StoredSnapshot = {
  version: 1,
  uid: "u",
  namespace: "default",
  name: "s",
  sandbox: { name: "box", uid: "b" },
  depth: "Memory",
  epoch: 2,
  runtime: { name: "gvisor", version: "1" },
  containers: [],
  claims: [],
  pauseMs: 40,
  sizeBytes: 4096,
  createdAt: created + second,
};
const condition = (type: string, status: "True" | "False", reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-02T03:04:10Z",
  observedGeneration: 1,
});
const complete = condition("Ready", "True", "Complete", "The snapshot is complete");

function observe(
  {
    metadata,
    ...more
  }: { metadata?: SandboxSnapshot["metadata"]; status?: SandboxSnapshot["status"]; spec?: object } = {},
  rest: Partial<ObservedSnapshot> = {},
): ObservedSnapshot {
  const snapshot = {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: {
      name: "s",
      namespace: "default",
      uid: "u",
      generation: 1,
      creationTimestamp: "2026-01-02T03:04:05Z",
      finalizers: [snapshotFinalizer],
      ...metadata,
    },
    spec: { sandboxRef: { name: "box" }, volumes: "Include", deletionPolicy: "Delete" },
    ...more,
  } as SandboxSnapshot;
  return { snapshot, nodeName: "node", stored: undefined, isRestorable: true, ...rest };
}
const decide = (observed: ObservedSnapshot, afterSeconds = 5) =>
  decideSnapshot(observed, undefined, created + afterSeconds * second);

const notRunning = { reason: "SourceNotRunning", message: "it sleeps", isFinal: false } as const;
const cannot = { reason: "RuntimeCannotSave", message: "runc cannot", isFinal: true } as const;
const ready = {
  conditions: [complete],
  depth: "Memory",
  sizeBytes: 4096,
  pauseMilliseconds: 40,
  node: "node",
  runtime: { name: "gvisor", version: "1" },
  sourceName: "box",
  sourceUID: "b",
  epoch: 2,
  createdAt: "2026-01-02T03:04:06.000Z",
  restorable: true,
} as const;

describe("decideSnapshot()", () => {
  test("a new snapshot gets its finalizer before it is captured", () => {
    expect(decide(observe({ metadata: { finalizers: ["a/b"] } })).actions).toEqual([
      { do: "hold", finalizers: ["a/b", snapshotFinalizer], ownerReferences: [] },
      { do: "capture" },
    ]);
  });

  test("a complete snapshot is reported, and owned by its Sandbox", () => {
    expect(decide(observe({}, { stored }))).toEqual({
      actions: [{ do: "hold", finalizers: [snapshotFinalizer], ownerReferences: [box] }],
      memory: undefined,
      status: ready,
    });
  });

  test("a snapshot that cannot be restored here says why, until it can", () => {
    const obstacle = { reason: "KeyUnavailable", message: "no key" } as const;
    const locked = decide(observe({}, { stored, isRestorable: false, obstacle })).status;
    const restorable = condition("Restorable", "False", "KeyUnavailable", "no key");
    expect(locked).toEqual({ ...ready, conditions: [restorable, complete], restorable: false });
    expect(decide(observe({ status: locked ?? {} }, { stored })).status).toEqual(ready);
  });

  test("an imported snapshot is never captured, belongs to no Sandbox, and is lost if its import was interrupted", () => {
    const metadata = { annotations: { "agents.x-k8s.io/imported": "true" } };
    expect(decide(observe({ metadata }))).toMatchObject({ actions: [], requeueAt: created + 6 * second });
    expect(decide(observe({ metadata }), 61).status?.conditions).toMatchObject([
      { type: "Ready", reason: "ImageMissing" },
    ]);
    const imported = { ...stored, sandbox: { name: "box", uid: "" } };
    expect(decide(observe({ metadata }, { stored: imported }))).toMatchObject({
      actions: [],
      status: { sourceUID: "" },
    });
  });

  test("a retained snapshot is not owned by its Sandbox any more", () => {
    const other = { ...box, uid: "x" };
    const retained = observe(
      { metadata: { ownerReferences: [box, other] }, spec: { sandboxRef: { name: "box" }, deletionPolicy: "Retain" } },
      { stored },
    );
    expect(decide(retained).actions).toEqual([
      { do: "hold", finalizers: [snapshotFinalizer], ownerReferences: [other] },
    ]);
  });

  test("a settled snapshot needs nothing until it expires", () => {
    const settled = observe(
      {
        metadata: { ownerReferences: [box] },
        status: structuredClone(ready) as never,
        spec: { sandboxRef: { name: "box" }, deletionPolicy: "Delete", ttlSecondsAfterCreation: 60 },
      },
      { stored },
    );
    expect(decide(settled)).toEqual({
      actions: [],
      memory: undefined,
      status: ready,
      requeueAt: created + 60 * second,
    });
    expect(decide(settled, 60).actions).toEqual([{ do: "delete" }]);
  });

  test("a snapshot waits for a source that does not run yet, and gives up after a minute", () => {
    const waiting = observe({}, { problem: notRunning });
    expect(decide(waiting)).toEqual({
      actions: [],
      memory: undefined,
      status: { conditions: [condition("Ready", "False", "SourceNotRunning", "it sleeps")] },
      requeueAt: created + 6 * second,
    });
    expect(decide(waiting, 60).status?.conditions).toMatchObject([
      { type: "Ready", status: "False" },
      { type: "Failed", status: "True", reason: "SourceNotRunning" },
    ]);
  });

  test("a failed snapshot says why, and is not tried again", () => {
    const { status } = decide(observe({}, { problem: cannot }));
    expect(status).toEqual({
      conditions: [
        condition("Ready", "False", "RuntimeCannotSave", "runc cannot"),
        condition("Failed", "True", "RuntimeCannotSave", "runc cannot"),
      ],
      node: "node",
      restorable: false,
    });
    expect(decide(observe({ status: status as never }))).toEqual({ actions: [], memory: undefined });
  });

  test("a snapshot whose files are gone is not captured again: its source may have changed", () => {
    const lost = decide(observe({ status: structuredClone(ready) as never }));
    expect(lost.actions).toEqual([]);
    expect(lost.status).toMatchObject({
      conditions: [{ type: "Ready", status: "False", reason: "ImageMissing" }],
      restorable: false,
      sourceUID: "b",
    });
    expect(decide(observe({ status: lost.status as never })).actions).toEqual([]);
  });

  test("files go before a deleted object", () => {
    const deleted = { deletionTimestamp: "2026-01-02T03:04:06Z" };
    const deleting = observe({ metadata: { ...deleted, finalizers: ["a/b", snapshotFinalizer] } }, { stored });
    expect(decide(deleting)).toEqual({
      actions: [{ do: "remove-files" }, { do: "release", finalizers: ["a/b"] }],
      memory: undefined,
    });
    expect(decide(observe({ metadata: { ...deleted, finalizers: ["a/b"] } })).actions).toEqual([]);
  });

  test("a snapshot of another node is left to it", () => {
    expect(decide(observe({ status: { node: "other" } }))).toEqual({ actions: [], memory: undefined });
  });
});
