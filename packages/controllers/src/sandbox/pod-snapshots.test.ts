import type { Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { condition } from "../extensions.test.support.ts";
import { podSnapshotFor } from "./pod-snapshots.ts";

const view = { apiVersion: "podsnapshot.gke.io/v1", kind: "PodSnapshot", name: "v", uid: "v", controller: true };

function snapshot(name: string, minute: number, more: Partial<SandboxSnapshot["status"]> = {}): SandboxSnapshot {
  return {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: { name, namespace: "default", uid: name, ownerReferences: [view] },
    spec: { sandboxRef: { name: "box" } },
    status: {
      conditions: [condition("Ready", "True", "Complete")],
      depth: "Memory",
      epoch: 0,
      createdAt: `2026-01-01T00:0${minute}:00Z`,
      ...more,
    },
  };
}

function sandbox({
  named,
  epoch,
  suspended = "True",
  reason = "PodTerminated",
}: {
  named?: string;
  epoch?: number;
  suspended?: "True" | "False";
  reason?: string;
} = {}) {
  return {
    metadata: { name: "box", namespace: "default", uid: "box" },
    spec: {
      podTemplate: { metadata: { annotations: named === undefined ? {} : { "podsnapshot.gke.io/ps-name": named } } },
    },
    status: {
      conditions: [condition("Suspended", suspended, reason)],
      ...(epoch !== undefined && { suspension: { epoch } }),
    },
  } as unknown as Sandbox;
}
const [older, newer] = [snapshot("older", 1), snapshot("newer", 2)];
const plain = { ...newer, metadata: { ...newer.metadata, ownerReferences: [] } };

describe("the Pod snapshot that a Sandbox resumes from (STATE-33)", () => {
  test.for([
    ["the newest", sandbox(), [older, newer], "newer"],
    ["the one that the annotation names", sandbox({ named: "older" }), [older, newer], "older"],
    ["none if the annotation names none of its own", sandbox({ named: "other" }), [older, newer], undefined],
    ["none for a Pod that was lost", sandbox({ suspended: "False" }), [newer], undefined],
    [
      "none for a named one either, if its Pod was lost",
      sandbox({ named: "newer", suspended: "False" }),
      [newer],
      undefined,
    ],
    ["none that it has been restored from already", sandbox({ epoch: 1 }), [newer], undefined],
    ["none after it was suspended for being idle", sandbox({ reason: "Idle" }), [newer], undefined],
    ["a named one, also then", sandbox({ reason: "Idle", named: "newer" }), [newer], "newer"],
    [
      "one taken since the last restore, by a clock that was set back",
      sandbox({ epoch: 1 }),
      [newer, snapshot("next", 0, { epoch: 1 })],
      "next",
    ],
    ["one taken since the last restore", sandbox({ epoch: 1 }), [snapshot("next", 3, { epoch: 1 })], "next"],
    ["a named one, also again", sandbox({ named: "newer", epoch: 5 }), [newer], "newer"],
    ["none that is not complete", sandbox(), [snapshot("s", 1, { conditions: [] })], undefined],
    ["no SandboxSnapshot that is no Pod snapshot", sandbox(), [plain], undefined],
  ] as const)("%s", ([, object, snapshots, expected]) => {
    expect(podSnapshotFor(object, snapshots)?.metadata.name).toBe(expected);
  });
});
