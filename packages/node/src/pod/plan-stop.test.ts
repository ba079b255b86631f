import type { Container, Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import type { TaskState } from "./observed.ts";
import { planStop } from "./plan-stop.ts";
import type { ContainerRecord, PodRecord, Stopping } from "./record.ts";

const second = 1000;
const preStop = { preStop: { exec: { command: ["true"] } } };
const run = { process: { pid: 7, start: 70 }, monitor: { pid: 6, start: 60 }, startedAt: 0, started: true };
const live: ContainerRecord = { attempt: 0, runtime: "runc", run };
const over: ContainerRecord = {
  ...live,
  ended: { id: "x", exitCode: 0, reason: "Completed", startedAt: 0, finishedAt: 0 },
};
const stopping = (stop: Partial<Stopping> = {}): ContainerRecord => ({
  ...live,
  stopping: { since: 0, graceMs: 30 * second, because: "deleted", ...stop },
});
const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: "host", ...more });

interface Case {
  readonly containers: Record<string, ContainerRecord>;
  readonly hook?: boolean;
  readonly tasks?: Record<string, TaskState>;
  readonly graceMs?: number;
  readonly stoppingSince?: number;
}

function plan({ containers, hook, tasks = {}, graceMs = 30 * second, stoppingSince }: Case, now: number): object {
  const pod: Pod = {
    spec: {
      initContainers: [
        container("first", { restartPolicy: "Always" }),
        container("second", { restartPolicy: "Always" }),
      ],
      containers: [container("main", hook ? { lifecycle: preStop } : {}), container("other")],
    },
  };
  const record: PodRecord = {
    version: 1,
    uid: "u",
    namespace: "n",
    name: "p",
    address: "10.0.0.2",
    startTime: 0,
    prepared: true,
    containers,
    ...(stoppingSince !== undefined && { stoppingSince }),
  };
  return planStop({ pod, record, tasks, graceMs, because: "deleted" }, now);
}

const stop = (name: string, graceMs = 30 * second) => ({
  do: "stop-container",
  container: name,
  because: "deleted",
  graceMs,
});
const signal = (name: string, which: string) => ({ do: "signal", container: name, signal: which });

describe("planStop()", () => {
  test.for<[string, Case, number, object]>([
    ["is done when no container runs", { containers: { main: over } }, 0, { actions: [], done: true }],
    [
      "stops all containers but the sidecars first, at the same time",
      { containers: { main: live, other: live, first: live, second: live } },
      0,
      { actions: [stop("main"), stop("other")], requeueAt: undefined, done: false },
    ],
    [
      "then stops the last sidecar with the rest of the grace period",
      { containers: { main: over, other: over, first: live, second: live }, stoppingSince: 0 },
      10 * second,
      { actions: [stop("second", 20 * second)], requeueAt: undefined, done: false },
    ],
    [
      "a sidecar gets at least two seconds",
      { containers: { first: live, second: over }, stoppingSince: 0 },
      60 * second,
      { actions: [stop("first", 2 * second)], requeueAt: undefined, done: false },
    ],
    [
      "runs the preStop hook before the signal",
      { containers: { main: stopping() }, hook: true },
      0,
      { actions: [{ do: "run-hook", container: "main", hook: "preStop" }], requeueAt: undefined, done: false },
    ],
    [
      "waits for the hook",
      { containers: { main: stopping() }, hook: true, tasks: { "preStop:main:0": { state: "running" } } },
      5 * second,
      { actions: [], requeueAt: 30 * second, done: false },
    ],
    [
      "ignores the hook of another run",
      {
        containers: { main: { ...stopping(), attempt: 1 } },
        hook: true,
        tasks: { "preStop:main:0": { state: "done" } },
      },
      0,
      { actions: [{ do: "run-hook", container: "main", hook: "preStop" }], requeueAt: undefined, done: false },
    ],
    [
      "continues after a failed hook",
      {
        containers: { main: stopping() },
        hook: true,
        tasks: { "preStop:main:0": { state: "failed", reason: "Error", message: "" } },
      },
      5 * second,
      { actions: [signal("main", "SIGTERM")], requeueAt: undefined, done: false },
    ],
    [
      "does not wait for a hook beyond the grace period",
      { containers: { main: stopping() }, hook: true, tasks: { "preStop:main:0": { state: "running" } } },
      30 * second,
      { actions: [signal("main", "SIGTERM")], requeueAt: undefined, done: false },
    ],
    [
      "the container gets at least two seconds after the hook",
      { containers: { main: stopping({ signalledAt: 30 * second }) }, hook: true },
      30 * second,
      { actions: [], requeueAt: 32 * second, done: false },
    ],
    [
      "a grace period of 0 skips hook and signal",
      { containers: { main: stopping({ graceMs: 0 }) }, hook: true, graceMs: 0 },
      0,
      { actions: [signal("main", "SIGKILL")], requeueAt: undefined, done: false },
    ],
    [
      "a container that is not in the spec is killed",
      { containers: { stranger: live } },
      0,
      { actions: [signal("stranger", "SIGKILL")], requeueAt: undefined, done: false },
    ],
    ["the holder is not stopped", { containers: { "-holder": live } }, 0, { actions: [], done: true }],
  ])("%s", ([, given, now, expected]) => {
    expect(plan(given, now)).toEqual(expected);
  });
});
