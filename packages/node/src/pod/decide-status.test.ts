import { describe, expect, test } from "vitest";
import {
  alive,
  crashed,
  ended,
  observed,
  podOf,
  recordOf,
  run,
  running,
  second,
  started,
} from "./decide.test.support.ts";
import { decide } from "./decide.ts";

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

  test.for([
    ["right after its start", {}, 300, started, "False", started + 150],
    ["just before it has run half as long as its creation took", {}, 300, started + 149, "False", started + 150],
    ["then", {}, 300, started + 150, "True", undefined],
    ["after 50 ms if it was created faster", {}, 1, started, "False", started + 50],
    ["after a second if it was created slowly", {}, 60_000, started, "False", started + 1000],
    ["with a record of an earlier version", {}, undefined, started, "False", started + 50],
    ["when the clock was set back", {}, 150, started - 1, "True", undefined],
    ["with a probe that has succeeded", { readinessProbe: {} }, 150, started, "True", undefined],
    ["with a startup probe that has succeeded", { startupProbe: {} }, 150, started, "True", undefined],
  ] as const)(
    "a container without probes is ready after a while: %s",
    ([, probes, createMs, time, ready, requeueAt]) => {
      const pod = podOf();
      const containers = (pod.spec?.containers ?? []).map((container) => ({ ...container, ...probes }));
      const record = recordOf({ ...running, run: { ...run, ...(createMs !== undefined && { createMs }) } });
      const decision = decide(observed({ ...pod, spec: { ...pod.spec, containers } }, record, alive), time);
      const found = decision.status?.conditions?.find(({ type }) => type === "Ready");
      expect([found?.status, decision.requeueAt]).toEqual([ready, requeueAt]);
      expect(decision.status?.phase).toBe("Running");
    },
  );

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
