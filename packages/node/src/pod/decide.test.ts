import type { Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { kubeletBackoff } from "./backoff.ts";
import { type Action, decide, type Observed } from "./decide.ts";
import type { RunState } from "./observed.ts";
import type { ContainerRecord, PodRecord, Termination } from "./record.ts";

const second = 1000;
const started = 100 * second;
const uid = "u-1";

function podOf(over: { metadata?: Pod["metadata"]; spec?: Partial<Pod["spec"]>; status?: Pod["status"] } = {}): Pod {
  return {
    metadata: { name: "p", namespace: "n", uid, resourceVersion: "1", ...over.metadata },
    spec: { containers: [{ name: "main", image: "host" }], ...over.spec },
    ...(over.status !== undefined && { status: over.status }),
  };
}

const recordOf = (main?: ContainerRecord, over: Partial<PodRecord> = {}): PodRecord => ({
  version: 1,
  uid,
  namespace: "n",
  name: "p",
  address: "10.0.0.2",
  startTime: started,
  prepared: true,
  sourcesVersion: "",
  containers: main === undefined ? {} : { main },
  ...over,
});

const run = { process: { pid: 7, start: 70 }, monitor: { pid: 6, start: 60 }, startedAt: started, started: true };
const running: ContainerRecord = { attempt: 0, runtime: "runc", image: "host-1", run };
const ended = (exitCode: number, over: Partial<Termination> = {}): Termination => ({
  id: "u-1_main_0",
  exitCode,
  reason: exitCode === 0 ? "Completed" : "Error",
  startedAt: started,
  finishedAt: started + 5 * second,
  ...over,
});
const crashed: ContainerRecord = {
  ...running,
  ended: ended(1),
  backoff: { delayMs: 10 * second, since: started + 5 * second },
};
const alive: RunState = { alive: true };
const dead = (code: number, outOfMemory = false): RunState => ({
  alive: false,
  exit: { code, finishedAt: started + 5 * second, outOfMemory },
});
const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 };

const observed = (pod: Pod | undefined, record?: PodRecord, main?: RunState): Observed => ({
  pod,
  record,
  runs: main === undefined ? {} : { main },
  hostAddress: "192.0.2.1",
  rules: {
    runtimes: ["runc"],
    allowedRuntimes: ["runc"],
    defaultRuntime: "runc",
    ownUsers: [],
    ownKernels: [],
    canSave: ["gvisor"],
    allow: { privileged: false, hostPaths: [], hostUsers: false },
    backoff: kubeletBackoff,
  },
  health: {},
  tasks: { "pull:main": { state: "done" } },
  sourcesVersion: "",
});
const stopping = (over: object = {}): ContainerRecord => ({
  ...running,
  stopping: { since: 10 * second, graceMs: 30 * second, because: "deleted", ...over },
});

describe("decide(): actions", () => {
  test.for<[string, Observed, number, readonly Action[], number?]>([
    ["sets a new Pod up", observed(podOf()), 0, [{ do: "set-up" }]],
    [
      "continues a setup that was interrupted",
      observed(podOf(), recordOf(undefined, { prepared: false })),
      0,
      [{ do: "set-up" }],
    ],
    ["pulls the image", { ...observed(podOf(), recordOf()), tasks: {} }, 0, [{ do: "pull-image", container: "main" }]],
    ["waits for the pull", { ...observed(podOf(), recordOf()), tasks: { "pull:main": { state: "running" } } }, 0, []],
    [
      "records a failed pull",
      {
        ...observed(podOf(), recordOf()),
        tasks: { "pull:main": { state: "failed", reason: "ErrImagePull", message: "no" } },
      },
      0,
      [{ do: "record-failure", container: "main", problem: { reason: "ErrImagePull", message: "no" } }],
    ],
    [
      "starts the container when the Pod is set up",
      observed(podOf(), recordOf()),
      0,
      [{ do: "start-container", container: "main", attempt: 0 }],
    ],
    [
      "repeats a creation that was interrupted, as the same attempt",
      observed(podOf(), recordOf({ attempt: 2, runtime: "runc" })),
      0,
      [{ do: "start-container", container: "main", attempt: 2 }],
    ],
    [
      "starts a container that was created but not started",
      observed(podOf(), recordOf({ ...running, run: { ...run, started: false } }), alive),
      0,
      [{ do: "start-container", container: "main", attempt: 0 }],
    ],
    ["leaves a running container alone", observed(podOf(), recordOf(running), alive), 0, []],
    [
      "records how a container ended",
      observed(podOf(), recordOf(running), dead(3)),
      0,
      [
        {
          do: "record-exit",
          container: "main",
          record: { ...running, ended: ended(3), backoff: { delayMs: 0, since: started + 5 * second } },
        },
      ],
    ],
    [
      "reports OOMKilled for a container that ran out of memory",
      observed(podOf(), recordOf(running), dead(137, true)),
      0,
      [
        {
          do: "record-exit",
          container: "main",
          record: {
            ...running,
            ended: ended(137, { reason: "OOMKilled" }),
            backoff: { delayMs: 0, since: started + 5 * second },
          },
        },
      ],
    ],
    [
      "reports Completed for exit code 0, even if a child process was OOM-killed",
      observed(podOf(), recordOf(running), dead(0, true)),
      0,
      [
        {
          do: "record-exit",
          container: "main",
          record: { ...running, ended: ended(0), backoff: { delayMs: 0, since: started + 5 * second } },
        },
      ],
    ],
    [
      "reports ContainerStatusUnknown when the exit code is missing",
      observed(podOf(), recordOf(running), { alive: false }),
      200 * second,
      [
        {
          do: "record-exit",
          container: "main",
          record: {
            ...running,
            ended: ended(137, { reason: "ContainerStatusUnknown", finishedAt: 200 * second }),
            backoff: { delayMs: 0, since: 200 * second },
          },
        },
      ],
    ],
    ["waits for the back-off before a restart", observed(podOf(), recordOf(crashed)), 110 * second, [], 115 * second],
    [
      "restarts when the back-off has passed",
      observed(podOf(), recordOf(crashed)),
      115 * second,
      [{ do: "start-container", container: "main", attempt: 1 }],
    ],
    [
      "Always restarts after exit code 0",
      observed(podOf(), recordOf({ ...running, ended: ended(0) })),
      105 * second,
      [{ do: "start-container", container: "main", attempt: 1 }],
    ],
    [
      "OnFailure restarts after a failure",
      observed(podOf({ spec: { restartPolicy: "OnFailure" } }), recordOf(crashed)),
      115 * second,
      [{ do: "start-container", container: "main", attempt: 1 }],
    ],
    [
      "OnFailure does not restart after exit code 0",
      observed(podOf({ spec: { restartPolicy: "OnFailure" } }), recordOf({ ...running, ended: ended(0) })),
      115 * second,
      [],
    ],
    [
      "Never does not restart",
      observed(podOf({ spec: { restartPolicy: "Never" } }), recordOf(crashed)),
      115 * second,
      [],
    ],
    [
      "releases the resources of a Pod that has ended",
      observed(podOf({ status: { phase: "Failed" } }), recordOf(crashed)),
      0,
      [{ do: "release" }],
    ],
    [
      "releases them once",
      observed(podOf({ status: { phase: "Failed" } }), recordOf(crashed, { released: true })),
      0,
      [],
    ],
    [
      "does not start a Pod that had ended before the node saw it",
      observed(podOf({ status: { phase: "Succeeded" } })),
      0,
      [],
    ],
    [
      "begins to stop the containers of a deleted Pod",
      observed(podOf({ metadata: deleting }), recordOf(running), alive),
      0,
      [{ do: "stop-container", container: "main", because: "deleted", graceMs: 30 * second }],
    ],
    [
      "then sends SIGTERM",
      observed(podOf({ metadata: deleting }), recordOf(stopping()), alive),
      10 * second,
      [{ do: "signal", container: "main", signal: "SIGTERM" }],
    ],
    [
      "then waits for the grace period",
      observed(podOf({ metadata: deleting }), recordOf(stopping({ signalledAt: 10 * second })), alive),
      20 * second,
      [],
      40 * second,
    ],
    [
      "then sends SIGKILL",
      observed(podOf({ metadata: deleting }), recordOf(stopping({ signalledAt: 10 * second })), alive),
      40 * second,
      [{ do: "signal", container: "main", signal: "SIGKILL" }],
    ],
    [
      "a second delete shortens the grace period",
      observed(
        podOf({ metadata: { ...deleting, deletionGracePeriodSeconds: 5 } }),
        recordOf(stopping({ signalledAt: 10 * second })),
        alive,
      ),
      15 * second,
      [{ do: "signal", container: "main", signal: "SIGKILL" }],
    ],
    [
      "a grace period of 0 sends SIGKILL at once",
      observed(
        podOf({ metadata: { ...deleting, deletionGracePeriodSeconds: 0 } }),
        recordOf(stopping({ graceMs: 0 })),
        alive,
      ),
      10 * second,
      [{ do: "signal", container: "main", signal: "SIGKILL" }],
    ],
    [
      "tears a deleted Pod down when its containers have ended",
      observed(podOf({ metadata: deleting }), recordOf(crashed)),
      0,
      [{ do: "tear-down" }],
    ],
    [
      "tears down a deleted Pod whose containers never started",
      observed(podOf({ metadata: deleting }), recordOf(undefined, { prepared: false })),
      0,
      [{ do: "tear-down" }],
    ],
    [
      "does not restart a container of a deleted Pod",
      observed(podOf({ metadata: deleting }), recordOf(crashed)),
      999 * second,
      [{ do: "tear-down" }],
    ],
    [
      "deletes the Pod from the API after the teardown",
      observed(podOf({ metadata: deleting })),
      0,
      [{ do: "delete-from-api" }],
    ],
    [
      "tears down a running Pod that is gone from the API",
      observed(undefined, recordOf(running), alive),
      0,
      [{ do: "tear-down" }],
    ],
    ["does nothing for an unknown Pod", observed(undefined), 0, []],
  ])("%s", ([, observed, now, actions, requeueAt]) => {
    const decision = decide(observed, now);
    expect({ actions: decision.actions, requeueAt: decision.requeueAt }).toEqual({ actions, requeueAt });
  });

  test("is deterministic", () => {
    expect(decide(observed(podOf(), recordOf(crashed)), 42)).toEqual(decide(observed(podOf(), recordOf(crashed)), 42));
  });
});

describe("decide(): status", () => {
  const now = Date.UTC(2026, 0, 1);
  const at = "2026-01-01T00:00:00Z";
  const conditions = (ready: object, prepared = "True"): object[] => [
    { type: "PodReadyToStartContainers", status: prepared, lastTransitionTime: at },
    { type: "Initialized", status: "True", lastTransitionTime: at },
    { type: "Ready", ...ready, lastTransitionTime: at },
    { type: "ContainersReady", ...ready, lastTransitionTime: at },
    { type: "PodScheduled", status: "True", lastTransitionTime: at },
  ];
  const notReady = { status: "False", reason: "ContainersNotReady", message: "containers with unready status: [main]" };
  const place = {
    hostIP: "192.0.2.1",
    hostIPs: [{ ip: "192.0.2.1" }],
    podIP: "10.0.0.2",
    podIPs: [{ ip: "10.0.0.2" }],
    startTime: "1970-01-01T00:01:40Z",
  };
  const main = {
    name: "main",
    image: "host",
    imageID: "host-1",
    containerID: "runc://u-1_main_0",
    restartCount: 0,
    lastState: {},
  };
  const terminated = {
    exitCode: 1,
    reason: "Error",
    startedAt: "1970-01-01T00:01:40Z",
    finishedAt: "1970-01-01T00:01:45Z",
    containerID: "runc://u-1_main_0",
  };

  test("the complete status of a running Pod", () => {
    expect(decide(observed(podOf(), recordOf(running), alive), now).status).toEqual({
      phase: "Running",
      conditions: conditions({ status: "True" }),
      containerStatuses: [
        { ...main, ready: true, started: true, state: { running: { startedAt: "1970-01-01T00:01:40Z" } } },
      ],
      ...place,
    });
  });

  test("a Pod in back-off is Running and not ready", () => {
    const waiting = recordOf({
      ...crashed,
      backoff: { delayMs: 20 * second, since: now },
      ended: ended(1, { finishedAt: now }),
    });
    expect(decide(observed(podOf(), waiting), now).status).toEqual({
      phase: "Running",
      conditions: conditions(notReady),
      containerStatuses: [
        {
          ...main,
          ready: false,
          started: false,
          state: {
            waiting: {
              reason: "CrashLoopBackOff",
              message: "back-off 20s restarting failed container=main pod=p_n(u-1)",
            },
          },
          lastState: { terminated: { ...terminated, finishedAt: at } },
        },
      ],
      ...place,
    });
  });

  test.for([
    ["Failed", crashed, { status: "False", reason: "PodFailed" }, terminated],
    [
      "Succeeded",
      { ...running, ended: ended(0) },
      { status: "False", reason: "PodCompleted" },
      { ...terminated, exitCode: 0, reason: "Completed" },
    ],
  ] as const)("one that is over: %s", ([phase, kept, ready, state]) => {
    expect(decide(observed(podOf({ spec: { restartPolicy: "Never" } }), recordOf(kept)), now).status).toEqual({
      phase,
      conditions: conditions(ready, "False").map((one) =>
        phase === "Succeeded" && "type" in one && one.type === "Initialized" ? { ...one, reason: "PodCompleted" } : one,
      ),
      containerStatuses: [{ ...main, ready: false, started: false, state: { terminated: state } }],
      ...place,
    });
  });

  test("a restarted container shows how its last run ended", () => {
    const again = recordOf({ ...running, attempt: 1, last: ended(1) });
    expect(decide(observed(podOf(), again, alive), now).status?.containerStatuses).toEqual([
      {
        ...main,
        containerID: "runc://u-1_main_1",
        restartCount: 1,
        ready: true,
        started: true,
        state: { running: { startedAt: "1970-01-01T00:01:40Z" } },
        lastState: { terminated },
      },
    ]);
  });

  test("a Pod with an unsupported field waits with a message that names the field", () => {
    const decision = decide(observed(podOf({ spec: { hostNetwork: true } })), now);
    const problem = {
      reason: "CreateContainerConfigError",
      message: 'Cannot run Pod "n/p": spec.hostNetwork: true is not supported by this node; supported: false',
    };
    expect(decision).toMatchObject({
      actions: [],
      problem,
      status: { phase: "Pending", containerStatuses: [{ state: { waiting: problem } }] },
    });
  });

  test("under disk pressure a new Pod waits and a started one continues", () => {
    const pressure = { reason: "ContainerCreating", message: "The node had condition: [DiskPressure]. " };
    const waiting = decide({ ...observed(podOf()), pressure }, now);
    expect(waiting).toMatchObject({
      actions: [],
      problem: pressure,
      status: { phase: "Pending", containerStatuses: [{ state: { waiting: pressure } }] },
    });
    expect(waiting.requeueAt).toBeGreaterThan(now);
    const begun = observed(podOf(), recordOf(running), alive);
    expect(decide({ ...begun, pressure }, now)).toEqual(decide(begun, now));
  });

  test("conditions keep their transition time, and conditions of others stay", () => {
    const earlier = "2025-12-31T00:00:00Z";
    const status = {
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: earlier },
        { type: "ContainersReady", status: "False", lastTransitionTime: earlier },
        { type: "example.com/gate", status: "True", lastTransitionTime: earlier },
      ],
    };
    const reported = decide(observed(podOf({ status }), recordOf(running), alive), now).status?.conditions ?? [];
    expect(Object.fromEntries(reported.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]))).toEqual({
      PodReadyToStartContainers: at,
      Initialized: at,
      Ready: earlier,
      ContainersReady: at,
      PodScheduled: at,
      "example.com/gate": earlier,
    });
  });
});
