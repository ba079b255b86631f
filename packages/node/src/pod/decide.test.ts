import { describe, expect, test } from "vitest";
import {
  alive,
  crashed,
  dead,
  deleting,
  ended,
  observed,
  podOf,
  recordOf,
  run,
  running,
  second,
  started,
  stopping,
} from "./decide.test.support.ts";
import { type Action, decide, type Observed } from "./decide.ts";

describe("decide(): actions", () => {
  test.for<[string, Observed, number, readonly Action[], number?]>([
    ["sets a new Pod up", observed(podOf()), 0, [{ do: "set-up" }]],
    ["waits for the removal of the saved Pod before it", { ...observed(podOf()), predecessor: "u-0" }, 0, []],
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
