import type { Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { askRuntimeAtMs, decideWrite, idleWindowMs } from "./decide-write.ts";
import { isBusy } from "./runtime-report.ts";

const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const sandbox = (idlePolicy: Sandbox["spec"]["idlePolicy"], writtenMs?: number): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata:
    writtenMs === undefined
      ? {}
      : { annotations: { "agents.x-k8s.io/last-activity": new Date(writtenMs).toISOString() } },
  spec: { podTemplate: { spec: { containers: [] } }, ...(idlePolicy === undefined ? {} : { idlePolicy }) },
});
const four = { suspendAfterSeconds: 240 };

describe("decideWrite()", () => {
  test.for<[string, Sandbox, { lastMs: number; writtenMs: number | undefined }, number, object | undefined]>([
    ["no idle policy", sandbox(undefined), { lastMs: start, writtenMs: undefined }, start, undefined],
    ["an empty idle policy", sandbox({}), { lastMs: start, writtenMs: undefined }, start, undefined],
    ["the first activity", sandbox(four), { lastMs: start, writtenMs: undefined }, start, { write: true }],
    [
      "activity right after a write",
      sandbox(four, start),
      { lastMs: start + 1, writtenMs: start },
      start + 1,
      { write: false, lookAgainMs: start + minute },
    ],
    [
      "activity a quarter after a write",
      sandbox(four, start),
      { lastMs: start + minute, writtenMs: start },
      start + minute,
      { write: true },
    ],
    [
      "nothing new a quarter after a write",
      sandbox(four, start),
      { lastMs: start, writtenMs: start },
      start + minute,
      { write: false, lookAgainMs: start + 2 * minute },
    ],
    [
      "another router wrote",
      sandbox(four, start + 30_000),
      { lastMs: start + minute, writtenMs: start },
      start + minute,
      { write: false, lookAgainMs: start + 90_000 },
    ],
    [
      "our write is not in the cache yet",
      sandbox(four),
      { lastMs: start + 1, writtenMs: start },
      start + 1,
      { write: false, lookAgainMs: start + minute },
    ],
    [
      "the shorter window counts",
      sandbox({ suspendAfterSeconds: 240, deleteAfterSeconds: 120 }, start),
      { lastMs: start + 30_000, writtenMs: start },
      start + 30_000,
      { write: true },
    ],
    [
      "an annotation that is no time",
      { ...sandbox(four), metadata: { annotations: { "agents.x-k8s.io/last-activity": "soon" } } },
      { lastMs: start, writtenMs: undefined },
      start,
      { write: true },
    ],
  ])("%s", ([, object, seen, now, expected]) => {
    expect(decideWrite(object, seen, now)).toEqual(expected);
  });
});

test("the window is the shorter one; the runtime is asked in its last quarter", () => {
  expect([idleWindowMs(sandbox({ deleteAfterSeconds: 60 })), idleWindowMs(sandbox({}))]).toEqual([60_000, undefined]);
  expect(askRuntimeAtMs(240_000, start)).toBe(start + 180_000);
});

test.for<[unknown, boolean]>([
  [{ busy: true }, true],
  [{ busy: false, running_processes: 3 }, false],
  [{ busy: "true" }, false],
  [{}, false],
  [null, false],
  ["busy", false],
])("%j is busy: %s", ([report, expected]) => {
  expect(isBusy(report)).toBe(expected);
});
