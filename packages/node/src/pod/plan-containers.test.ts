import type { Container, Pod, PodSpec } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { kubeletBackoff } from "./backoff.ts";
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
      rules: {
        runtimes: ["runc"],
        allowedRuntimes: ["runc"],
        defaultRuntime: "runc",
        ownUsers: [],
        ownKernels: [],
        allow: { privileged: false, hostPaths: [], hostUsers: false },
        backoff: kubeletBackoff,
      },
      lives: Object.fromEntries(Object.keys(kept.containers).map((name) => [name, { alive: true }])),
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
    ["the first init container alone", { spec: inits }, starts("one")],
    ["waits for it", { spec: inits, containers: { one: live } }, []],
    ["then the next", { spec: inits, containers: { one: over(0) } }, starts("two")],
    ["then the others", { spec: inits, containers: { one: over(0), two: over(0) } }, starts("main")],
    ["tries a failed one again", { spec: inits, containers: { one: over(1) } }, starts("one", 1)],
    ["does not, where nothing is ever tried again", { spec: { ...inits, ...never }, containers: { one: over(1) } }, []],
    ["a sidecar first", { spec: sidecar }, starts("side")],
    ["goes on while it runs", { spec: sidecar, containers: { side: live } }, starts("one")],
    [
      "not before its startup probe is content",
      { spec: sidecar, containers: { side: live }, more: { health: { side: { started: false, ready: false } } } },
      [],
    ],
    [
      "keeps a sidecar alive while an init container runs",
      { spec: sidecar, containers: { side: over(0), one: live } },
      starts("side", 1),
    ],
    [
      "never goes back to the beginning",
      { spec: inits, containers: { one: over(0), two: over(0), main: over(1) } },
      starts("main", 1),
    ],
    ["all others one after the other", { spec: pair }, starts("a")],
    ["the second after the first", { spec: pair, containers: { a: live } }, starts("b")],
    [
      "the holder of the namespaces before everything",
      { spec: pair, record: { containers: {} } },
      [{ do: "start-holder", attempt: 0 }],
    ],
    [
      "without it the others cannot stay",
      { spec: pair, containers: { "-holder": over(137), a: live, b: live } },
      [
        { do: "signal", container: "a", signal: "SIGKILL" },
        { do: "signal", container: "b", signal: "SIGKILL" },
      ],
    ],
    [
      "then it is made anew",
      { spec: pair, containers: { "-holder": over(137), a: over(137), b: over(137) } },
      [{ do: "start-holder", attempt: 1 }],
    ],
    [
      "a Pod that is over needs none",
      { spec: { ...pair, ...never }, containers: { "-holder": over(137), a: over(0), b: over(0) } },
      [],
    ],
    [
      "the sidecars end when the work is done",
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
      "a hook right after the start",
      { spec: hooked, containers: { a: live } },
      [{ do: "run-hook", container: "a", hook: "postStart" }],
    ],
    [
      "the next container waits for it",
      { spec: hooked, containers: { a: live }, more: task({ state: "running" }) },
      [],
    ],
    [
      "its end is written down",
      { spec: hooked, containers: { a: live }, more: task({ state: "done" }) },
      [{ do: "record-hooked", container: "a" }],
    ],
    [
      "then the next starts",
      { spec: hooked, containers: { a: { ...live, run: { ...run, hooked: true } } }, more: task({ state: "done" }) },
      starts("b"),
    ],
    [
      "its failure ends the container",
      { spec: hooked, containers: { a: live }, more: task({ state: "failed", reason: "", message: "" }) },
      stops("a", "post-start"),
    ],
    [
      "so does a probe that gives up, in the time it allows",
      {
        spec: {},
        containers: { main: live },
        more: { health: { main: { started: true, ready: true, failed: { probe: "liveness", graceMs: 5000 } } } },
      },
      stops("main", "liveness", 5000),
    ],
    [
      "a container whose image was changed makes room",
      { spec: {}, containers: { main: { ...live, reference: "before" } } },
      stops("main", "changed"),
    ],
    [
      "and starts again, whatever the policy",
      { spec: never, containers: { main: { ...live, ended: { ...ended(0), replaced: true } } } },
      starts("main", 1),
    ],
    [
      "what was condemned starts again, though it ended well",
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

describe("what a Pod stands on", () => {
  test.for<[string, Case, readonly object[]]>([
    [
      "volumes follow what they are filled from",
      { spec: {}, containers: { main: live }, more: { sourcesVersion: "2" } },
      [{ do: "sync-volumes" }],
    ],
    [
      "and time",
      { spec: {}, containers: { main: live }, record: { refreshVolumesAt: 1000 } },
      [{ do: "sync-volumes" }],
    ],
    [
      "a Pod has its time",
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
      "also while it waits for a volume",
      { spec: { activeDeadlineSeconds: 1 }, record: { prepared: false, containers: {} } },
      [{ do: "record-verdict", verdict: { reason: "DeadlineExceeded", message: expect.any(String) } }],
    ],
    [
      "and is over then",
      {
        spec: {},
        record: { prepared: false, containers: {}, verdict: { reason: "DeadlineExceeded", message: "" } },
      },
      [],
    ],
    [
      "a Pod has its place on the disk",
      { spec: {}, containers: { main: live }, more: { excess: { reason: "Evicted", message: "too much" } } },
      [{ do: "record-verdict", verdict: { reason: "Evicted", message: "too much" } }],
    ],
    [
      "and is ended soon when it takes more",
      { spec: {}, containers: { main: live }, record: { verdict: { reason: "Evicted", message: "" } } },
      stops("main", "deadline", 1000),
    ],
    [
      "and is then ended",
      { spec: {}, containers: { main: live }, record: { verdict: { reason: "DeadlineExceeded", message: "" } } },
      stops("main", "deadline"),
    ],
  ])("%s", ([, given, actions]) => {
    expect(next(given)).toEqual(actions);
  });
});
