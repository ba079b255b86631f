import type { Pod, PodStatus } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { isReported } from "./status.ts";

const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
const wanted: PodStatus = { phase: "Running", conditions: [ready] };

describe("a status that the Pod already has is not written", () => {
  test.for<[string, object | undefined, boolean]>([
    ["the same", wanted, true],
    ["with a field that the API server adds", { ...wanted, conditions: [{ ...ready, lastProbeTime: null }] }, true],
    ["with a field that the node does not write", { ...wanted, qosClass: "BestEffort" }, true],
    ["with another condition", { ...wanted, conditions: [{ ...ready, status: "False" }] }, false],
    ["without conditions", { phase: "Running" }, false],
    ["none", undefined, false],
  ])("%s", ([, status, expected]) => {
    const pod = { metadata: { name: "a" }, ...(status && { status }) } as Pod;
    expect(isReported(pod, wanted)).toBe(expected);
  });
});
