import type { Condition, Sandbox, SandboxSnapshot, SuspensionStatus } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import {
  describeResume,
  describeSuspension,
  resumeOutcome,
  shortfallOf,
  snapshotOutcome,
  suspensionOutcome,
} from "./sandbox-state.ts";

type Brief = readonly [type: string, status: "True" | "False", reason: string, message?: string, generation?: number];

const conditions = (list: readonly Brief[]): Condition[] =>
  list.map(([type, status, reason, message = "", observedGeneration = 2]) => ({
    type,
    status,
    reason,
    message,
    observedGeneration,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));

const sandbox = (list: readonly Brief[], suspension?: SuspensionStatus): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "web", generation: 2 },
  spec: { podTemplate: { spec: { containers: [] } } },
  status: { conditions: conditions(list), ...(suspension && { suspension }) },
});

const snapshot = (list: readonly Brief[]): SandboxSnapshot => ({
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  metadata: { name: "web-1" },
  spec: { sandboxRef: { name: "web" } },
  status: { conditions: conditions(list) },
});

const memory: SuspensionStatus = { depth: "Memory", sizeBytes: 2 ** 20 };

describe("a Sandbox that was asked to suspend", () => {
  test.for<[string, readonly Brief[], object]>([
    ["is suspended", [["Suspended", "True", "PodTerminated"]], { type: "done", value: memory }],
    [
      "is being saved",
      [["Suspended", "False", "Saving", "Pod is being saved"]],
      { type: "waiting", why: "Pod is being saved" },
    ],
    [
      "has a condition of an older spec",
      [["Suspended", "True", "Idle", "", 1]],
      { type: "waiting", why: "suspending" },
    ],
    [
      "keeps running",
      [["Suspended", "False", "QuotaExceeded", "the disk is full"]],
      {
        type: "failed",
        why: 'it keeps running: the disk is full (QuotaExceeded). Run "agent-sandbox resume" to cancel, or set spec.suspendPolicy.fallback to Allow',
      },
    ],
  ])("%s", ([, list, expected]) => {
    expect(suspensionOutcome(sandbox(list, memory))).toEqual(expected);
  });
});

describe("a Sandbox that was asked to resume", () => {
  const ready: Brief = ["Ready", "True", "DependenciesReady"];
  const blocked: Brief = ["Restored", "False", "ImageDamaged", "the image is damaged"];
  test.for<[string, readonly Brief[], string | undefined, SuspensionStatus, object]>([
    ["is ready", [ready], undefined, memory, { type: "done", value: memory }],
    [
      "starts",
      [["Ready", "False", "PodNotReady", "Pod is starting"]],
      undefined,
      memory,
      { type: "waiting", why: "Pod is starting" },
    ],
    ["has no conditions yet", [], undefined, memory, { type: "waiting", why: "starting" }],
    [
      "cannot be restored and may not start otherwise",
      [blocked, ["Ready", "False", "ImageDamaged"]],
      undefined,
      memory,
      {
        type: "failed",
        why: "its memory cannot be restored: the image is damaged (ImageDamaged). Set spec.suspendPolicy.fallback to Allow to start it from its files",
      },
    ],
    ["was started from its files", [blocked, ready], undefined, memory, { type: "done", value: memory }],
    ["is ready, but before the rollback", [ready], "web-1", memory, { type: "waiting", why: "DependenciesReady" }],
    [
      "was rolled back",
      [ready],
      "web-1",
      { restoredFrom: { name: "web-1", uid: "1" } },
      { type: "done", value: { restoredFrom: { name: "web-1", uid: "1" } } },
    ],
    [
      "waits for its snapshot",
      [["Restored", "False", "SnapshotNotReady", "not ready"]],
      "web-1",
      memory,
      { type: "waiting", why: "starting" },
    ],
    [
      "has a snapshot that cannot be restored",
      [blocked],
      "web-1",
      memory,
      { type: "failed", why: "it was not restored: the image is damaged (ImageDamaged)" },
    ],
  ])("%s", ([, list, name, suspension, expected]) => {
    expect(resumeOutcome(sandbox(list, suspension), name)).toEqual(expected);
  });
});

test.for<[readonly Brief[], string]>([
  [[["Ready", "True", "Complete"]], "done"],
  [[["Ready", "False", "Taking", "copying files"]], "waiting"],
  [[], "waiting"],
  [
    [
      ["Failed", "True", "RuntimeCannotSave", "runc"],
      ["Ready", "False", "RuntimeCannotSave"],
    ],
    "failed",
  ],
])("a snapshot with %j is %s", ([list, type]) => {
  expect(snapshotOutcome(snapshot(list))).toMatchObject({ type });
});

test("describes what was kept and restored", () => {
  expect(describeSuspension(memory)).toBe("depth Memory, 1.0MiB");
  expect(describeSuspension({})).toBe("");
  expect(describeResume({ restored: "Memory", epoch: 3 })).toBe("from memory, epoch 3");
  expect(describeResume({ restored: "Filesystem" })).toBe("from its files");
  expect(describeResume({})).toBe("");
  expect(shortfallOf({ reason: "SaveFailed", message: "no space" })).toBe("no space (SaveFailed)");
  expect(shortfallOf(memory)).toBeUndefined();
});
