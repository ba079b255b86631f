import type { Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { kubeletBackoff } from "./backoff.ts";
import { type Action, decide, type Observed } from "./decide.ts";
import type { Life } from "./observed.ts";
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
const alive: Life = { alive: true };
const dead = (code: number, outOfMemory = false): Life => ({
  alive: false,
  exit: { code, finishedAt: started + 5 * second, outOfMemory },
});
const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 };

const seen = (pod: Pod | undefined, record?: PodRecord, main?: Life): Observed => ({
  pod,
  record,
  lives: main === undefined ? {} : { main },
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
  health: {},
  tasks: { "pull:main": { state: "done" } },
  sourcesVersion: "",
});
const stopping = (over: object = {}): ContainerRecord => ({
  ...running,
  stopping: { since: 10 * second, graceMs: 30 * second, because: "deleted", ...over },
});

describe("decide(): what to do", () => {
  test.for<[string, Observed, number, readonly Action[], number?]>([
    ["sets a new Pod up", seen(podOf()), 0, [{ do: "set-up" }]],
    [
      "goes on with a set-up that was interrupted",
      seen(podOf(), recordOf(undefined, { prepared: false })),
      0,
      [{ do: "set-up" }],
    ],
    ["brings the image", { ...seen(podOf(), recordOf()), tasks: {} }, 0, [{ do: "pull-image", container: "main" }]],
    ["waits for it", { ...seen(podOf(), recordOf()), tasks: { "pull:main": { state: "running" } } }, 0, []],
    [
      "writes down that it did not come",
      {
        ...seen(podOf(), recordOf()),
        tasks: { "pull:main": { state: "failed", reason: "ErrImagePull", message: "no" } },
      },
      0,
      [{ do: "record-failure", container: "main", problem: { reason: "ErrImagePull", message: "no" } }],
    ],
    [
      "starts the container once there is a place for it",
      seen(podOf(), recordOf()),
      0,
      [{ do: "start-container", container: "main", attempt: 0 }],
    ],
    [
      "takes up a creation that was interrupted, as the same attempt",
      seen(podOf(), recordOf({ attempt: 2, runtime: "runc" })),
      0,
      [{ do: "start-container", container: "main", attempt: 2 }],
    ],
    [
      "starts what was created and never started",
      seen(podOf(), recordOf({ ...running, run: { ...run, started: false } }), alive),
      0,
      [{ do: "start-container", container: "main", attempt: 0 }],
    ],
    ["leaves a running container alone", seen(podOf(), recordOf(running), alive), 0, []],
    [
      "writes down how a container ended",
      seen(podOf(), recordOf(running), dead(3)),
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
      "tells running out of memory from other ends",
      seen(podOf(), recordOf(running), dead(137, true)),
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
      "a child that ran out of memory does not spoil a good end",
      seen(podOf(), recordOf(running), dead(0, true)),
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
      "says that it does not know when nobody saw the end",
      seen(podOf(), recordOf(running), { alive: false }),
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
    ["waits before it starts again", seen(podOf(), recordOf(crashed)), 110 * second, [], 115 * second],
    [
      "starts again when the wait is over",
      seen(podOf(), recordOf(crashed)),
      115 * second,
      [{ do: "start-container", container: "main", attempt: 1 }],
    ],
    [
      "Always starts again after a good end, too",
      seen(podOf(), recordOf({ ...running, ended: ended(0) })),
      105 * second,
      [{ do: "start-container", container: "main", attempt: 1 }],
    ],
    [
      "OnFailure starts again after a failure",
      seen(podOf({ spec: { restartPolicy: "OnFailure" } }), recordOf(crashed)),
      115 * second,
      [{ do: "start-container", container: "main", attempt: 1 }],
    ],
    [
      "OnFailure leaves a good end",
      seen(podOf({ spec: { restartPolicy: "OnFailure" } }), recordOf({ ...running, ended: ended(0) })),
      115 * second,
      [],
    ],
    ["Never leaves any end", seen(podOf({ spec: { restartPolicy: "Never" } }), recordOf(crashed)), 115 * second, []],
    [
      "keeps only the outputs of a Pod that is over",
      seen(podOf({ status: { phase: "Failed" } }), recordOf(crashed)),
      0,
      [{ do: "release" }],
    ],
    ["does that once", seen(podOf({ status: { phase: "Failed" } }), recordOf(crashed, { released: true })), 0, []],
    [
      "does not start a Pod that was over before this node knew it",
      seen(podOf({ status: { phase: "Succeeded" } })),
      0,
      [],
    ],
    [
      "writes down that a container is to end",
      seen(podOf({ metadata: deleting }), recordOf(running), alive),
      0,
      [{ do: "stop-container", container: "main", because: "deleted", graceMs: 30 * second }],
    ],
    [
      "then asks it to end",
      seen(podOf({ metadata: deleting }), recordOf(stopping()), alive),
      10 * second,
      [{ do: "signal", container: "main", signal: "SIGTERM" }],
    ],
    [
      "then waits for the grace period",
      seen(podOf({ metadata: deleting }), recordOf(stopping({ signalledAt: 10 * second })), alive),
      20 * second,
      [],
      40 * second,
    ],
    [
      "then kills it",
      seen(podOf({ metadata: deleting }), recordOf(stopping({ signalledAt: 10 * second })), alive),
      40 * second,
      [{ do: "signal", container: "main", signal: "SIGKILL" }],
    ],
    [
      "a later delete with a shorter grace counts",
      seen(
        podOf({ metadata: { ...deleting, deletionGracePeriodSeconds: 5 } }),
        recordOf(stopping({ signalledAt: 10 * second })),
        alive,
      ),
      15 * second,
      [{ do: "signal", container: "main", signal: "SIGKILL" }],
    ],
    [
      "without grace, kills at once",
      seen(
        podOf({ metadata: { ...deleting, deletionGracePeriodSeconds: 0 } }),
        recordOf(stopping({ graceMs: 0 })),
        alive,
      ),
      10 * second,
      [{ do: "signal", container: "main", signal: "SIGKILL" }],
    ],
    [
      "takes a Pod down when its containers have ended",
      seen(podOf({ metadata: deleting }), recordOf(crashed)),
      0,
      [{ do: "tear-down" }],
    ],
    [
      "takes down what was never started",
      seen(podOf({ metadata: deleting }), recordOf(undefined, { prepared: false })),
      0,
      [{ do: "tear-down" }],
    ],
    [
      "does not start again a container of a Pod that goes",
      seen(podOf({ metadata: deleting }), recordOf(crashed)),
      999 * second,
      [{ do: "tear-down" }],
    ],
    [
      "lets the API forget a Pod that is gone from here",
      seen(podOf({ metadata: deleting })),
      0,
      [{ do: "delete-from-api" }],
    ],
    [
      "takes down a Pod that is gone from the API, whatever it does",
      seen(undefined, recordOf(running), alive),
      0,
      [{ do: "tear-down" }],
    ],
    ["has nothing to do for a Pod nobody knows", seen(undefined), 0, []],
  ])("%s", ([, observed, now, actions, wakeAt]) => {
    const decision = decide(observed, now);
    expect({ actions: decision.actions, wakeAt: decision.wakeAt }).toEqual({ actions, wakeAt });
  });

  test("deciding twice on the same observation gives the same answer", () => {
    expect(decide(seen(podOf(), recordOf(crashed)), 42)).toEqual(decide(seen(podOf(), recordOf(crashed)), 42));
  });
});

describe("decide(): what to report", () => {
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

  test("a running Pod, whole", () => {
    expect(decide(seen(podOf(), recordOf(running), alive), now).status).toEqual({
      phase: "Running",
      conditions: conditions({ status: "True" }),
      containerStatuses: [
        { ...main, ready: true, started: true, state: { running: { startedAt: "1970-01-01T00:01:40Z" } } },
      ],
      ...place,
    });
  });

  test("one that waits to start again is running, and not ready", () => {
    const waiting = recordOf({
      ...crashed,
      backoff: { delayMs: 20 * second, since: now },
      ended: ended(1, { finishedAt: now }),
    });
    expect(decide(seen(podOf(), waiting), now).status).toEqual({
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
    expect(decide(seen(podOf({ spec: { restartPolicy: "Never" } }), recordOf(kept)), now).status).toEqual({
      phase,
      conditions: conditions(ready, "False").map((one) =>
        phase === "Succeeded" && "type" in one && one.type === "Initialized" ? { ...one, reason: "PodCompleted" } : one,
      ),
      containerStatuses: [{ ...main, ready: false, started: false, state: { terminated: state } }],
      ...place,
    });
  });

  test("one that started again shows how it ended before", () => {
    const again = recordOf({ ...running, attempt: 1, last: ended(1) });
    expect(decide(seen(podOf(), again, alive), now).status?.containerStatuses).toEqual([
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

  test("one that cannot run says which field is in the way, and nothing is done", () => {
    const decision = decide(seen(podOf({ spec: { hostNetwork: true } })), now);
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

  test("a new one waits while the disk is down to its reserve; one that has begun goes on", () => {
    const pressure = { reason: "ContainerCreating", message: "The node had condition: [DiskPressure]. " };
    const waiting = decide({ ...seen(podOf()), pressure }, now);
    expect(waiting).toMatchObject({
      actions: [],
      problem: pressure,
      status: { phase: "Pending", containerStatuses: [{ state: { waiting: pressure } }] },
    });
    expect(waiting.wakeAt).toBeGreaterThan(now);
    const begun = seen(podOf(), recordOf(running), alive);
    expect(decide({ ...begun, pressure }, now)).toEqual(decide(begun, now));
  });

  test("a condition keeps the time of its last change, and others' conditions stay", () => {
    const earlier = "2025-12-31T00:00:00Z";
    const status = {
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: earlier },
        { type: "ContainersReady", status: "False", lastTransitionTime: earlier },
        { type: "example.com/gate", status: "True", lastTransitionTime: earlier },
      ],
    };
    const reported = decide(seen(podOf({ status }), recordOf(running), alive), now).status?.conditions ?? [];
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
