import { describe, expect, test } from "vitest";
import { afterResult, initialStates, isSettled, type ProbeKind, type ProbeState, settingsOf } from "./probe-state.ts";

describe("settingsOf()", () => {
  test("has Kubernetes' defaults", () => {
    expect(settingsOf({})).toEqual({
      initialDelayMs: 0,
      periodMs: 10_000,
      timeoutMs: 1000,
      successThreshold: 1,
      failureThreshold: 3,
    });
  });

  test("uses the probe's values, and the default for zero", () => {
    const probe = {
      initialDelaySeconds: 4,
      periodSeconds: 2,
      timeoutSeconds: 0,
      successThreshold: 5,
      failureThreshold: 6,
    };
    expect(settingsOf(probe)).toEqual({
      initialDelayMs: 4000,
      periodMs: 2000,
      timeoutMs: 1000,
      successThreshold: 5,
      failureThreshold: 6,
    });
  });
});

/** Feeds a probe the results `+` and `-`, and returns its verdict after each: `s`, `f`, or `?` for unknown. */
function walk(kind: ProbeKind, results: string, thresholds: { success?: number; failure?: number } = {}): string {
  const settings = settingsOf({
    successThreshold: thresholds.success ?? 1,
    failureThreshold: thresholds.failure ?? 3,
  });
  let state: ProbeState = initialStates[kind];
  return results
    .split("")
    .map((result) => {
      state = afterResult(state, result === "+" ? "success" : "failure", settings);
      return { success: "s", failure: "f", unknown: "?" }[state.verdict];
    })
    .join("");
}

describe("afterResult()", () => {
  test.for([
    ["readiness is false until the first success", "readiness", "--+", {}, "ffs"],
    ["one failure does not make it false again", "readiness", "+--+", {}, "ssss"],
    ["three in a row do", "readiness", "+---", {}, "sssf"],
    ["a success in between starts the count again", "readiness", "+--+--", {}, "ssssss"],
    ["it needs as many successes in a row as the threshold", "readiness", "++-+++", { success: 3 }, "fffffs"],
    ["liveness is true until the threshold", "liveness", "--", {}, "ss"],
    ["liveness fails at the threshold", "liveness", "---", {}, "ssf"],
    ["liveness fails at once with a threshold of one", "liveness", "-", { failure: 1 }, "f"],
    ["startup is undecided until it succeeds", "startup", "--+", { failure: 30 }, "??s"],
    ["startup fails at the threshold", "startup", "--", { failure: 2 }, "?f"],
  ] as const)("%s", ([, kind, results, thresholds, verdicts]) => {
    expect(walk(kind, results, thresholds)).toBe(verdicts);
  });
});

test.for([
  ["startup", "success", true],
  ["startup", "failure", true],
  ["startup", "unknown", false],
  ["liveness", "failure", true],
  ["liveness", "success", false],
  ["readiness", "failure", false],
  ["readiness", "success", false],
] as const)("a %s probe that says %s asks no more: %s", ([kind, verdict, settled]) => {
  expect(isSettled(kind, { verdict, inARow: 1 })).toBe(settled);
});
