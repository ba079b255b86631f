import { type Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { boundTo, claimOf, condition, created, readyStatus } from "../extensions.test.support.ts";
import { changesClaimed } from "./triggers.ts";

const claim = claimOf();

describe("triggers a claim only for changes that it shows", () => {
  const before = boundTo(claim);
  const withStatus = (over: object): Sandbox => ({ ...before, status: { ...before.status, ...over } });
  const ready = readyStatus.conditions ?? [];
  test.for([
    ["labels", { ...before, metadata: { ...before.metadata, labels: {} } }, false],
    ["spec", { ...before, spec: { ...before.spec, operatingMode: "Suspended" } }, false],
    ["Suspended", withStatus({ conditions: [...ready, condition("Suspended", "False", "NotSuspended")] }), false],
    ["PodScheduled", withStatus({ conditions: [...ready, condition("PodScheduled", "True", "PodScheduled")] }), false],
    [
      "the observed generation",
      withStatus({ conditions: ready.map((each) => ({ ...each, observedGeneration: 2 })) }),
      false,
    ],
    ["the reason of Ready", withStatus({ conditions: [condition("Ready", "True", "Other")] }), true],
    ["Finished", withStatus({ conditions: [...ready, condition("Finished", "True", "PodFailed")] }), true],
    ["addresses", withStatus({ podIPs: ["10.0.0.3"] }), true],
    ["deletion", { ...before, metadata: { ...before.metadata, deletionTimestamp: created } }, true],
    ["removal", undefined, true],
  ] as const)("%s: %s (CLAIM-44)", ([, after, expected]) => {
    expect(changesClaimed({ key: "default/my-claim", old: before, new: after })).toBe(expected);
  });
});
