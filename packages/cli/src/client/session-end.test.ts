import type { Pod, Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { whyEnded } from "./session-end.ts";

const sandbox = (more: object = {}, metadata: object = {}): Sandbox =>
  ({ metadata: { name: "web", generation: 1, ...metadata }, spec: { podTemplate: { spec: {} } }, ...more }) as Sandbox;
const pod = (status: object = {}, metadata: object = {}): Pod => ({ metadata: { uid: "p1", ...metadata }, status });
const containers = (one: object): object => ({ containerStatuses: [{ name: "main", restartCount: 0, ...one }] });
const before = { uid: "p1", restarts: 0 };
const conditions = (type: string, reason: string): object => ({
  status: { conditions: [{ type, status: type === "Ready" ? "False" : "True", reason, message: "" }] },
});
const gone = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const idle = { spec: { idlePolicy: { suspendAfterSeconds: 60 }, podTemplate: { spec: {} } } };
const suspended = sandbox({ spec: { operatingMode: "Suspended", podTemplate: { spec: {} } } });
const resume = 'resume it with "agent-sandbox resume web".';

test.for([
  ["nothing, if the sandbox runs as before", { sandbox: sandbox(), pod: pod(), before }, undefined],
  ["nothing, for a short command", { sandbox: sandbox(), pod: pod(), before: undefined }, undefined],
  ["a deletion", { sandbox: undefined, pod: undefined, before }, "The sandbox was deleted then."],
  ["a deletion that has begun", { sandbox: sandbox({}, gone), pod: pod(), before }, "The sandbox was deleted then."],
  ["a suspension", { sandbox: suspended, pod: pod(), before }, `The sandbox was suspended then; ${resume}`],
  [
    "idleness",
    { sandbox: sandbox({ ...idle, ...conditions("Suspended", "Idle") }), pod: undefined, before },
    `The sandbox was idle and was suspended then; ${resume}`,
  ],
  [
    "its shutdownTime",
    { sandbox: sandbox(conditions("Ready", "SandboxExpired")), pod: undefined, before },
    "The sandbox reached its shutdownTime then.",
  ],
  [
    "a new Pod",
    { sandbox: sandbox(), pod: pod({}, { uid: "p2" }), before },
    "The sandbox was restarted then: its Pod was replaced.",
  ],
  [
    "a Pod that is being deleted",
    { sandbox: sandbox(), pod: pod({}, gone), before: undefined },
    "The sandbox was restarted then: its Pod was replaced.",
  ],
  [
    "memory",
    {
      sandbox: sandbox(),
      pod: pod(containers({ restartCount: 1, lastState: { terminated: { reason: "OOMKilled" } } })),
      before,
    },
    "The sandbox ran out of memory then, and its container was ended.",
  ],
  [
    "the end of the container",
    { sandbox: sandbox(), pod: pod(containers({ state: { terminated: { reason: "Error" } } })), before: undefined },
    "The container of the sandbox ended then.",
  ],
  [
    "nothing, for an earlier restart",
    {
      sandbox: sandbox(),
      pod: pod(containers({ restartCount: 3, lastState: { terminated: { reason: "OOMKilled" } } })),
      before: { uid: "p1", restarts: 3 },
    },
    undefined,
  ],
] as const)("names %s", ([, after, expected]) => {
  expect(whyEnded(after, "web", " then")).toBe(expected);
});
