import type { Condition, SandboxClaim } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { claimState } from "./claim-state.ts";

const claim = (ready: Partial<Condition> | undefined, more: object = {}): SandboxClaim => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "claim", namespace: "team" },
  spec: { warmPoolRef: { name: "pool" } },
  status: {
    ...(ready && {
      conditions: [{ type: "Ready", status: "False", reason: "", message: "", lastTransitionTime: "", ...ready }],
    }),
    ...more,
  },
});
const bound = { sandbox: { name: "box" } };

test.for([
  ["a ready sandbox", claim({ status: "True" }, bound), "Ready"],
  ["a sleeping sandbox", claim({ reason: "SandboxSuspended" }, bound), "Sleeping"],
  ["a sandbox that is not ready yet", claim({ reason: "DependenciesNotReady" }, bound), "Starting"],
  ["a pool that does not exist", claim({ reason: "WarmPoolNotFound" }), "Failed"],
  ["an expired claim", claim({ reason: "ClaimExpired" }), "Expired"],
  ["no condition yet", claim(undefined), "Waiting"],
] as const)("a claim with %s", ([, object, title]) => {
  expect(claimState(object).title).toBe(title);
});

test("a claim that is being deleted releases its sandbox, whatever its conditions say", () => {
  const object = claim({ status: "True" }, bound);
  object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  expect(claimState(object)).toEqual({ title: "Releasing", tone: "neutral" });
});

test("the reason is a sentence of the controller", () => {
  const message = 'SandboxWarmPool "pool" not found';
  expect(claimState(claim({ reason: "WarmPoolNotFound", message })).why).toBe(message);
});
