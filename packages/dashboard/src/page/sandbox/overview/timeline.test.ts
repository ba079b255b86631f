import type { CoreEvent, Pod, Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { eventsOf, timeline } from "./timeline.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const sandbox: Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "a", namespace: "default", uid: "u", creationTimestamp: at(0) },
  spec: { podTemplate: { spec: { containers: [] } } },
  status: {
    conditions: [
      { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: at(4) },
    ],
  },
};
const pod = {
  spec: { nodeName: "n", containers: [] },
  status: {
    conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: at(1) }],
    containerStatuses: [{ name: "main", state: { running: { startedAt: at(3) } } }],
  },
} as unknown as Pod;
const event = (reason: string, second: number, over: object = {}): CoreEvent => ({
  metadata: { uid: `${reason}${second}` },
  reason,
  message: `${reason} happened`,
  lastTimestamp: at(second),
  involvedObject: { kind: "Pod", name: "a" },
  ...over,
});

const titles = (events: readonly CoreEvent[], snapshots: readonly SandboxSnapshot[] = []): string[] =>
  timeline({ sandbox, pod, events, snapshots }).map(({ title, afterMs = 0 }) => `${title} +${afterMs / 1000}`);

test("is in the usual order, with the time of each step", () => {
  const events = [event("Started", 3), event("Pulled", 2), event("Created", 3), event("Scheduled", 1)];
  expect(titles(events)).toEqual([
    "Created +0",
    "Scheduled +1",
    "Image ready +1",
    "Container created +1",
    "Container started +0",
    "Ready +1",
  ]);
});

test("never shows a step as older than the one before, whatever the precision of the times", () => {
  const created = { ...event("Created", 3), lastTimestamp: at(3).replace(".000", ".900") };
  const entries = timeline({ sandbox, pod, events: [created], snapshots: [] });
  const times = entries.map((entry) => entry.at);
  expect(entries.map(({ title }) => title)).toEqual([
    "Created",
    "Scheduled",
    "Container created",
    "Container started",
    "Ready",
  ]);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test("shows snapshots of this sandbox only", () => {
  const snapshot = (uid: string, sourceUID: string): SandboxSnapshot =>
    ({ metadata: { uid, name: uid }, spec: {}, status: { sourceUID, createdAt: at(5) } }) as SandboxSnapshot;
  expect(titles([], [snapshot("own", "u"), snapshot("other", "v")]).slice(-1)).toEqual(["Snapshot taken +1"]);
});

test("keeps a limited number of entries, and the creation", () => {
  const many = Array.from({ length: 500 }, (_, index) => event(`Reason${index}`, 10 + index));
  const entries = timeline({ sandbox, pod, events: many, snapshots: [] });
  expect(entries).toHaveLength(100);
  expect([entries[0]?.title, entries.at(-1)?.title]).toEqual(["Created", "Reason499"]);
});

test("takes events of the sandbox and of its Pod, but not of an older sandbox of the same name", () => {
  const of = (kind: string, name: string, uid?: string) => ({ involvedObject: { kind, name, uid } });
  const own = [event("A", 1, of("Sandbox", "a", "u")), event("B", 1, of("Pod", "a", "p"))];
  const foreign = [
    event("C", 1, of("Sandbox", "a", "older")),
    event("D", -5, of("Pod", "a", "p")),
    event("E", 1, of("Pod", "b", "p")),
    event("F", 1, of("SandboxClaim", "a", "u")),
  ];
  expect(eventsOf(sandbox, "a", [...own, ...foreign])).toEqual(own);
});
