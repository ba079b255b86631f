import { describe, expect, test } from "vitest";
import type { Condition } from "../shapes/condition.ts";
import { findCondition, isConditionTrue, removeCondition, setCondition } from "./condition.ts";

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const old = "2025-06-07T08:09:10Z";

const ready = (over: Partial<Condition> = {}): Condition => ({
  type: "Ready",
  status: "False",
  observedGeneration: 1,
  lastTransitionTime: old,
  reason: "DependenciesNotReady",
  message: "Pod does not exist",
  ...over,
});
const report = (over: Partial<Condition> = {}) => {
  const { lastTransitionTime: _, ...rest } = ready();
  return { ...rest, ...over };
};
const suspended = ready({ type: "Suspended", reason: "NotSuspended" });

describe("setCondition()", () => {
  test.for([
    [
      "absent: appended, dated now, to the second",
      [],
      report(),
      [ready({ lastTransitionTime: "2026-01-02T03:04:05Z" })],
    ],
    ["no list yet: the same", undefined, report(), [ready({ lastTransitionTime: "2026-01-02T03:04:05Z" })]],
    ["absent with a supplied time: that time", [suspended], report({ lastTransitionTime: old }), [suspended, ready()]],
    [
      "a supplied time is cut to the second and written in UTC",
      [],
      report({ lastTransitionTime: "2025-06-07T10:09:10.999+02:00" }),
      [ready()],
    ],
    [
      "a supplied time that is none: now",
      [],
      report({ lastTransitionTime: "yesterday" }),
      [ready({ lastTransitionTime: "2026-01-02T03:04:05Z" })],
    ],
    [
      "another status: dated now, in its place",
      [ready(), suspended],
      report({ status: "True", reason: "DependenciesReady", message: "Pod is Ready" }),
      [
        ready({
          status: "True",
          reason: "DependenciesReady",
          message: "Pod is Ready",
          lastTransitionTime: "2026-01-02T03:04:05Z",
        }),
        suspended,
      ],
    ],
    [
      "another status with a supplied time: that time",
      [ready()],
      report({ status: "True", lastTransitionTime: "2025-12-31T23:59:59Z" }),
      [ready({ status: "True", lastTransitionTime: "2025-12-31T23:59:59Z" })],
    ],
    [
      "the same status: reason, message and generation follow, the time stays",
      [ready()],
      report({
        reason: "ReconcilerError",
        message: "",
        observedGeneration: 2,
        lastTransitionTime: "2025-12-31T23:59:59Z",
      }),
      [ready({ reason: "ReconcilerError", message: "", observedGeneration: 2 })],
    ],
  ] as const)("%s", ([, before, reported, expected]) => {
    expect(setCondition(before, reported, now)).toEqual(expected);
  });

  test("a report without a generation removes the old one", () => {
    const { observedGeneration: _, ...reported } = report();
    expect(setCondition([ready()], reported, now)[0]).not.toHaveProperty("observedGeneration");
  });

  test("does not change its input, never adds a type twice, and is idempotent", () => {
    const before = Object.freeze([Object.freeze(ready()), Object.freeze(suspended)]);
    const once = setCondition(before, report({ status: "True" }), now);
    expect(once).not.toBe(before);
    expect(once.map((condition) => condition.type)).toEqual(["Ready", "Suspended"]);
    expect(setCondition(once, report({ status: "True" }), now + 60_000)).toEqual(once);
  });
});

test("finds, tests and removes by type", () => {
  const list = Object.freeze([ready({ status: "True" }), suspended]);
  expect(findCondition(list, "Suspended")).toBe(suspended);
  expect(findCondition(undefined, "Ready")).toBeUndefined();
  expect(isConditionTrue(list, "Ready")).toBe(true);
  expect(isConditionTrue(list, "Suspended")).toBe(false);
  expect(isConditionTrue(list, "Finished")).toBe(false);
  expect(removeCondition(list, "Ready")).toEqual([suspended]);
  expect(removeCondition(undefined, "Ready")).toEqual([]);
});
