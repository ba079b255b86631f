import { expect, test } from "vitest";
import type { Condition, SandboxObject } from "../kube/resources.ts";
import { isReady, isSuspended } from "./readiness.ts";

function sandbox(conditions: readonly Condition[], spec: Partial<SandboxObject["spec"]> = {}): SandboxObject {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "one", generation: 2 },
    spec: { podTemplate: { spec: {} }, ...spec },
    status: { conditions },
  };
}

test.for([
  ["a ready sandbox", [{ type: "Ready", status: "True", observedGeneration: 2 }], "done"],
  ["a condition of an older spec", [{ type: "Ready", status: "True", observedGeneration: 1 }], "waiting"],
  ["no condition yet", [], "waiting"],
  ["a sandbox that starts", [{ type: "Ready", status: "False", reason: "DependenciesNotReady" }], "waiting"],
  ["a sandbox that has failed", [{ type: "Ready", status: "False", reason: "PodFailed" }], "failed"],
  ["a sandbox that has expired", [{ type: "Ready", status: "False", reason: "SandboxExpired" }], "failed"],
] as const)("%s", ([, conditions, expected]) => {
  expect(isReady(sandbox(conditions)).type).toBe(expected);
});

test("a suspended sandbox does not become ready by itself", () => {
  expect(isReady(sandbox([], { operatingMode: "Suspended" })).type).toBe("failed");
});

test.for([
  ["suspended", [{ type: "Suspended", status: "True" }], "done"],
  ["on its way", [{ type: "Suspended", status: "False", reason: "PodTerminating" }], "waiting"],
  ["refused", [{ type: "Suspended", status: "False", reason: "RuntimeCannotSave", message: "runc cannot" }], "failed"],
] as const)("a suspension that is %s", ([, conditions, expected]) => {
  expect(isSuspended(sandbox(conditions, { operatingMode: "Suspended" })).type).toBe(expected);
});
