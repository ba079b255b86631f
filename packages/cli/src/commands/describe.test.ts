import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { descriptionOf } from "./describe.ts";
import { formatEvents } from "./events.ts";

const now = Date.parse("2026-01-01T00:10:00Z");
const sandbox = {
  metadata: { name: "web", namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { operatingMode: "Running", podTemplate: { spec: { containers: [{ name: "main", image: "x:1" }] } } },
  status: {
    conditions: [{ type: "Ready", status: "False", reason: "DependenciesNotReady", message: "Pod is Pending" }],
  },
} as unknown as Sandbox;
const waiting = { reason: "ErrImagePull", message: "no such image" };
const pod = {
  metadata: { name: "web" },
  status: { phase: "Pending", containerStatuses: [{ name: "main", restartCount: 0, state: { waiting } }] },
} as unknown as Pod;

test("a description says why a sandbox is not ready", () => {
  expect(descriptionOf(sandbox, pod, now).split("\n")).toEqual([
    "Name:      web",
    "Namespace: default",
    "Age:       10m",
    "Ready:     False (DependenciesNotReady) Pod is Pending",
    'Why:       container "main": cannot pull image: no such image',
    "Mode:      Running",
    "Image:     x:1",
    "Pod:       web (Pending)",
    "Restarts:  0",
  ]);
});

test("a description uses the sentence of the condition, and prints it once", () => {
  const sentence = 'container "main": cannot pull image "x:1": no such image';
  const message = `Pod exists with phase: Pending; ${sentence}`;
  const conditions = [{ type: "Ready", status: "False", reason: "DependenciesNotReady", message }];
  const lines = descriptionOf({ ...sandbox, status: { conditions } } as unknown as Sandbox, undefined, now).split("\n");
  expect(lines).toContain("Ready:     False (DependenciesNotReady) Pod exists with phase: Pending");
  expect(lines).toContain(`Why:       ${sentence}`);
});

test("events are a table, with the number of repetitions", () => {
  const event = { type: "Warning", reason: "Failed", message: "no", object: "pod/web", count: 3, time: now - 5000 };
  expect(formatEvents([event], now)).toBe(
    "LAST SEEN   TYPE      REASON   OBJECT    MESSAGE\n5s          Warning   Failed   pod/web   no (3 times)",
  );
});
