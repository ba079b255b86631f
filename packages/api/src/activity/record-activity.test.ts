import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyMergePatch } from "../primitives/merge-patch.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";
import { anySandbox } from "./any-sandbox.test.support.ts";
import { askRuntimeAtMs, decideRecord, type ObservedActivity, wakeChange } from "./record-activity.ts";
import { wakeBy } from "./sleep.ts";

const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const year = 365 * 24 * 60 * minute;
const sandbox = (idlePolicy: Sandbox["spec"]["idlePolicy"], activity?: number | string): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {
    name: "box",
    namespace: "default",
    uid: "u1",
    resourceVersion: "7",
    ...(activity !== undefined && {
      annotations: {
        "agents.x-k8s.io/last-activity": typeof activity === "string" ? activity : new Date(activity).toISOString(),
      },
    }),
  },
  spec: { podTemplate: { spec: { containers: [] } }, ...(idlePolicy === undefined ? {} : { idlePolicy }) },
});
const four = { suspendAfterSeconds: 240 };

describe("decideRecord()", () => {
  test.for<[string, Sandbox, ObservedActivity, number, ReturnType<typeof decideRecord>]>([
    ["no idle policy", sandbox(undefined), { lastMs: start, recordedMs: undefined }, start, undefined],
    ["an empty idle policy", sandbox({}), { lastMs: start, recordedMs: undefined }, start, undefined],
    ["the first activity", sandbox(four), { lastMs: start, recordedMs: undefined }, start, { record: true }],
    [
      "activity right after a write",
      sandbox(four, start),
      { lastMs: start + 1, recordedMs: start },
      start + 1,
      { record: false, checkAtMs: start + minute },
    ],
    [
      "activity a quarter of the window after a write",
      sandbox(four, start),
      { lastMs: start + minute, recordedMs: start },
      start + minute,
      { record: true },
    ],
    [
      "no activity a quarter of the window after a write",
      sandbox(four, start),
      { lastMs: start, recordedMs: start },
      start + minute,
      { record: false, checkAtMs: start + 2 * minute },
    ],
    [
      "another process wrote",
      sandbox(four, start + 30_000),
      { lastMs: start + minute, recordedMs: start },
      start + minute,
      { record: false, checkAtMs: start + 90_000 },
    ],
    [
      "our own write is not in the cache yet",
      sandbox(four),
      { lastMs: start + 1, recordedMs: start },
      start + 1,
      { record: false, checkAtMs: start + minute },
    ],
    [
      "the shorter of two limits is the window",
      sandbox({ suspendAfterSeconds: 240, deleteAfterSeconds: 120 }, start),
      { lastMs: start + 30_000, recordedMs: start },
      start + 30_000,
      { record: true },
    ],
    [
      "an annotation that is not a time",
      sandbox(four, "soon"),
      { lastMs: start, recordedMs: undefined },
      start,
      { record: true },
    ],
    [
      "an annotation in the future",
      sandbox(four, start + 70 * year),
      { lastMs: start, recordedMs: undefined },
      start,
      { record: true },
    ],
    [
      "an annotation in the future that was overwritten a moment ago",
      sandbox(four, start + 70 * year),
      { lastMs: start + 1, recordedMs: start },
      start + 1,
      { record: false, checkAtMs: start + minute },
    ],
    [
      "a clock that was set back after our own write",
      sandbox(four, start + year),
      { lastMs: start, recordedMs: start + year },
      start,
      { record: true },
    ],
  ])("%s", ([, object, observed, now, expected]) => {
    expect(decideRecord(object, observed, now)).toEqual(expected);
  });

  test("records activity within a quarter of the window, and not twice in it, whatever the annotation says (SLEEP-22)", () => {
    const inputs = fc.tuple(anySandbox, fc.integer({ min: start - year, max: start + year }));
    fc.assert(
      fc.property(inputs, ([object, now]) => {
        const windowMs = 1000 * Math.min(...Object.values(object.spec.idlePolicy ?? {}));
        const first = decideRecord(object, { lastMs: now, recordedMs: undefined }, now);
        const next = first?.record ? decideRecord(object, { lastMs: now + 1, recordedMs: now }, now + 1) : first;
        expect(next?.record).not.toBe(true);
        expect(next === undefined || next.record ? now : next.checkAtMs).toBeLessThanOrEqual(now + windowMs / 4);
      }),
    );
  });
});

test("the runtime is asked in the last quarter of the window", () => {
  expect(askRuntimeAtMs(240_000, start)).toBe(start + 180_000);
});

describe("wakeChange()", () => {
  const idle = (lastActivityTime: string): Sandbox => ({
    ...sandbox(four, lastActivityTime),
    status: {
      lastActivityTime,
      conditions: [{ type: "Suspended", status: "True", reason: "Idle", message: "", lastTransitionTime: "" }],
    },
  });
  const annotations = { "agents.x-k8s.io/last-activity": "2026-01-01T00:00:00.000Z" };

  test("records activity on this version of the object only", () => {
    const body = { metadata: { annotations } };
    expect(wakeChange(sandbox(four), "activity", start)).toEqual({
      body,
      preconditions: { uid: "u1", resourceVersion: "7" },
    });
  });

  test("changes the mode only of the version that was read", () => {
    expect(wakeChange(sandbox(four), "mode", start)).toEqual({
      body: { metadata: { annotations }, spec: { operatingMode: "Running" } },
      preconditions: { uid: "u1", resourceVersion: "7" },
    });
  });

  test("writes another time than the one the Sandbox was suspended on", () => {
    const { body } = wakeChange(idle("2026-01-01T00:00:00Z"), "activity", start);
    expect(body.metadata.annotations).toEqual({ "agents.x-k8s.io/last-activity": "2026-01-01T00:00:00.001Z" });
  });

  test("wakes every Sandbox that traffic may wake (SLEEP-21)", () => {
    const inputs = fc.tuple(anySandbox, fc.integer({ min: start - year, max: start + year }));
    fc.assert(
      fc.property(inputs, ([object, now]) => {
        const by = wakeBy(object);
        const after = by === undefined ? object : applyMergePatch(object, wakeChange(object, by, now).body);
        expect(wakeBy(after as Sandbox)).toBeUndefined();
      }),
    );
  });
});
