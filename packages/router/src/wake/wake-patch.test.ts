import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { wakePatch, wakeTime } from "./wake-patch.ts";

const now = Date.UTC(2026, 0, 1, 12);
const suspended = (at: string): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "box", namespace: "default", uid: "u1", resourceVersion: "7" },
  spec: { podTemplate: { spec: { containers: [] } } },
  status: { conditions: [{ type: "Suspended", status: "True", reason: "Idle", message: "", lastTransitionTime: at }] },
});

test.for([
  ["long ago", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00.000Z"],
  ["this second", "2026-01-01T12:00:00Z", "2026-01-01T12:00:01.000Z"],
  ["ahead of our clock", "2026-01-01T12:05:00Z", "2026-01-01T12:05:01.000Z"],
  ["nobody knows when", "", "2026-01-01T12:00:00.000Z"],
])("is newer than a suspension %s", ([, at = "", expected]) => {
  expect(new Date(wakeTime(suspended(at), now)).toISOString()).toBe(expected);
});

test("touches the activity alone, of this very object", () => {
  expect(wakePatch(suspended(""), "activity", now)).toEqual({
    type: "merge",
    body: { metadata: { annotations: { "agents.x-k8s.io/last-activity": "2026-01-01T12:00:00.000Z" } } },
    preconditions: { uid: "u1" },
  });
});

test("changes the mode only of the object it has seen", () => {
  expect(wakePatch(suspended(""), "mode", now)).toEqual({
    type: "merge",
    body: {
      metadata: { annotations: { "agents.x-k8s.io/last-activity": "2026-01-01T12:00:00.000Z" } },
      spec: { operatingMode: "Running" },
    },
    preconditions: { uid: "u1", resourceVersion: "7" },
  });
});
