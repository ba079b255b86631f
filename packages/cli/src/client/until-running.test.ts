import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { isRunning } from "./until-running.ts";

const running = { state: { running: { startedAt: "2026-01-01T00:00:00Z" } } };
const waiting = { state: { waiting: { reason: "ContainerCreating" } } };

test.for<[string, object, boolean]>([
  ["a new Pod", {}, false],
  ["a Pod whose container waits", { status: { containerStatuses: [waiting] } }, false],
  ["a Pod whose container runs and is not ready yet", { status: { containerStatuses: [running] } }, true],
  ["a Pod with a container that waits", { status: { containerStatuses: [running, waiting] } }, false],
  [
    "a Pod that is being deleted",
    { metadata: { deletionTimestamp: "x" }, status: { containerStatuses: [running] } },
    false,
  ],
])("%s: %o", ([, pod, expected]) => {
  expect(isRunning(pod as Pod)).toBe(expected);
});
