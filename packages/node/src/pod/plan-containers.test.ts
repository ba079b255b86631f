import type { Container, Pod, PodSpec } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { rules } from "./decide.test.support.ts";
import type { Action, Observed } from "./decide.ts";
import { decide } from "./decide.ts";
import type { ContainerRecord, PodRecord, Termination } from "./record.ts";

const run = { process: { pid: 7, start: 70 }, monitor: { pid: 6, start: 60 }, startedAt: 0, started: true };
const live: ContainerRecord = { attempt: 0, runtime: "runc", run };
const ended = (exitCode: number): Termination => ({ id: "x", exitCode, reason: "Error", startedAt: 0, finishedAt: 0 });
const over = (exitCode: number): ContainerRecord => ({ ...live, ended: ended(exitCode) });
const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: "host", ...more });
const postStart = { lifecycle: { postStart: { exec: { command: ["true"] } } } };

interface Case {
  readonly spec: Partial<PodSpec>;
  readonly containers?: Record<string, ContainerRecord>;
  readonly more?: Partial<Observed>;
  readonly record?: Partial<PodRecord>;
}

function next({ spec, containers = {}, more = {}, record = {} }: Case, now = 1000): readonly Action[] {
  const pod: Pod = {
    metadata: { name: "p", namespace: "n", uid: "u-1" },
    spec: { containers: [container("main")], ...spec },
  };
  const all = [...(spec.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const kept: PodRecord = {
    version: 1,
    uid: "u-1",
    namespace: "n",
    name: "p",
    address: "10.0.0.2",
    startTime: 0,
    prepared: true,
    sourcesVersion: "",
    containers: { "-holder": live, ...containers },
    ...record,
  };
  return decide(
    {
      pod,
      record: kept,
      hostAddress: "192.0.2.1",
      rules,
      runs: Object.fromEntries(Object.keys(kept.containers).map((name) => [name, { alive: true }])),
      health: {},
      tasks: Object.fromEntries(all.map(({ name }) => [`pull:${name}`, { state: "done" }])),
      sourcesVersion: "",
      ...more,
    },
    now,
  ).actions;
}

const starts = (name: string, attempt = 0): Action[] => [{ do: "start-container", container: name, attempt }];
const inits = { initContainers: [container("one"), container("two")] };
const sidecar = { initContainers: [container("side", { restartPolicy: "Always" }), container("one")] };
const pair = { containers: [container("a"), container("b")] };
const never = { restartPolicy: "Never" } as const;
const stops = (name: string, because: string, graceMs = 30_000): object[] => [
  { do: "stop-container", container: name, because, graceMs },
];

describe("the order of a Pod's containers", () => {
  test.for<[string, Case, readonly object[]]>([
    ["starts the first init container alone", { spec: inits }, starts("one")],
    ["waits for a running init container", { spec: inits, containers: { one: live } }, []],
    ["then starts the next init container", { spec: inits, containers: { one: over(0) } }, starts("two")],
    ["then starts the main containers", { spec: inits, containers: { one: over(0), two: over(0) } }, starts("main")],
    ["restarts a failed init container", { spec: inits, containers: { one: over(1) } }, starts("one", 1)],
    ["does not restart it with the policy Never", { spec: { ...inits, ...never }, containers: { one: over(1) } }, []],
    ["starts a sidecar before the init containers after it", { spec: sidecar }, starts("side")],
    ["starts the next container while the sidecar runs", { spec: sidecar, containers: { side: live } }, starts("one")],
    [
      "waits for the sidecar's startup probe",
      { spec: sidecar, containers: { side: live }, more: { health: { side: { started: false, ready: false } } } },
      [],
    ],
    [
      "restarts a sidecar while an init container runs",
      { spec: sidecar, containers: { side: over(0), one: live } },
      starts("side", 1),
    ],
    [
      "does not run init containers again after the main containers started",
      { spec: inits, containers: { one: over(0), two: over(0), main: over(1) } },
      starts("main", 1),
    ],
    ["starts the main containers one after the other", { spec: pair }, starts("a")],
    ["starts the second after the first", { spec: pair, containers: { a: live } }, starts("b")],
    [
      "starts the holder before all containers",
      { spec: pair, record: { containers: {} } },
      [{ do: "start-holder", attempt: 0 }],
    ],
    [
      "kills the containers when the holder has ended",
      { spec: pair, containers: { "-holder": over(137), a: live, b: live } },
      [
        { do: "signal", container: "a", signal: "SIGKILL" },
        { do: "signal", container: "b", signal: "SIGKILL" },
      ],
    ],
    [
      "then starts a new holder",
      { spec: pair, containers: { "-holder": over(137), a: over(137), b: over(137) } },
      [{ do: "start-holder", attempt: 1 }],
    ],
    [
      "does not start a holder for a Pod that has ended",
      { spec: { ...pair, ...never }, containers: { "-holder": over(137), a: over(0), b: over(0) } },
      [],
    ],
    [
      "stops the sidecars when the main containers have ended",
      { spec: { ...sidecar, ...never }, containers: { side: live, one: over(0), main: over(0) } },
      stops("side", "pod over"),
    ],
  ])("%s", ([, given, actions]) => {
    expect(next(given)).toEqual(actions);
  });
});

describe("hooks and probes", () => {
  const hooked = { containers: [container("a", postStart), container("b")] };
  const task = (state: object): Partial<Observed> => ({
    tasks: { "pull:b": { state: "done" }, "postStart:a:0": state as never },
  });
  test.for<[string, Case, readonly object[]]>([
    [
      "runs postStart after the start",
      { spec: hooked, containers: { a: live } },
      [{ do: "run-hook", container: "a", hook: "postStart" }],
    ],
    [
      "the next container waits for the hook",
      { spec: hooked, containers: { a: live }, more: task({ state: "running" }) },
      [],
    ],
    [
      "records that the hook succeeded",
      { spec: hooked, containers: { a: live }, more: task({ state: "done" }) },
      [{ do: "record-hooked", container: "a" }],
    ],
    [
      "then starts the next container",
      { spec: hooked, containers: { a: { ...live, run: { ...run, hooked: true } } }, more: task({ state: "done" }) },
      starts("b"),
    ],
    [
      "a failed hook stops the container",
      { spec: hooked, containers: { a: live }, more: task({ state: "failed", reason: "", message: "" }) },
      stops("a", "post-start"),
    ],
    [
      "a failed liveness probe stops the container with the probe's grace period",
      {
        spec: {},
        containers: { main: live },
        more: { health: { main: { started: true, ready: true, failed: { probe: "liveness", graceMs: 5000 } } } },
      },
      stops("main", "liveness", 5000),
    ],
    [
      "stops a container whose image changed",
      { spec: {}, containers: { main: { ...live, reference: "before" } } },
      stops("main", "changed"),
    ],
    [
      "restarts it with any policy",
      { spec: never, containers: { main: { ...live, ended: { ...ended(0), replaced: true } } } },
      starts("main", 1),
    ],
    [
      "OnFailure restarts a container that a probe stopped, even with exit code 0",
      {
        spec: { restartPolicy: "OnFailure" },
        containers: { main: { ...live, ended: { ...ended(0), unhealthy: true } } },
      },
      starts("main", 1),
    ],
  ])("%s", ([, given, actions]) => {
    expect(next(given)).toEqual(actions);
  });
});

describe("volumes, deadline and disk", () => {
  test.for<[string, Case, readonly object[]]>([
    [
      "updates volumes when their sources change",
      { spec: {}, containers: { main: live }, more: { sourcesVersion: "2" } },
      [{ do: "sync-volumes" }],
    ],
    [
      "updates volumes when their content expires",
      { spec: {}, containers: { main: live }, record: { refreshVolumesAt: 1000 } },
      [{ do: "sync-volumes" }],
    ],
    [
      "ends a Pod at its activeDeadlineSeconds",
      { spec: { activeDeadlineSeconds: 1 }, containers: { main: live } },
      [
        {
          do: "record-verdict",
          verdict: {
            reason: "DeadlineExceeded",
            message: "Pod was active on the node longer than the specified deadline",
          },
        },
      ],
    ],
    [
      "ends a Pod that still waits for a volume at its deadline",
      { spec: { activeDeadlineSeconds: 1 }, record: { prepared: false, containers: {} } },
      [{ do: "record-verdict", verdict: { reason: "DeadlineExceeded", message: expect.any(String) } }],
    ],
    [
      "does not set up a Pod that has passed its deadline",
      {
        spec: {},
        record: { prepared: false, containers: {}, verdict: { reason: "DeadlineExceeded", message: "" } },
      },
      [],
    ],
    [
      "evicts a Pod that exceeds its disk limit",
      { spec: {}, containers: { main: live }, more: { excess: { reason: "Evicted", message: "too much" } } },
      [{ do: "record-verdict", verdict: { reason: "Evicted", message: "too much" } }],
    ],
    [
      "stops an evicted Pod with a short grace period",
      { spec: {}, containers: { main: live }, record: { verdict: { reason: "Evicted", message: "" } } },
      stops("main", "deadline", 1000),
    ],
    [
      "stops a Pod past its deadline with its own grace period",
      { spec: {}, containers: { main: live }, record: { verdict: { reason: "DeadlineExceeded", message: "" } } },
      stops("main", "deadline"),
    ],
  ])("%s", ([, given, actions]) => {
    expect(next(given)).toEqual(actions);
  });
});
