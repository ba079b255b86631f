import type { Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { troubleOf } from "./pod-trouble.ts";

const running = { name: "a", state: { running: {} } };
const waiting = (reason: string, message?: string, lastState?: object) => ({
  name: "b",
  state: { waiting: { reason, message } },
  lastState,
});

test.for([
  [
    "an image that is not there",
    [running, waiting("ErrImagePull", "no such host")],
    'container "b": ErrImagePull: no such host',
  ],
  [
    "a command that ends again and again",
    [waiting("CrashLoopBackOff", "back-off", { terminated: { exitCode: 3, reason: "Error" } })],
    'container "b": CrashLoopBackOff: back-off: it exited with 3 (Error)',
  ],
  ["nothing of one that runs", [running], undefined],
  ["nothing of a Pod nobody has looked at", undefined, undefined],
] as const)("tells %s", ([, containerStatuses, expected]) => {
  expect(troubleOf({ status: { containerStatuses } } as unknown as Pod)).toBe(expected);
});
