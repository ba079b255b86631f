import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { podPath, whyAsleep } from "./sandbox-pod.ts";

const conditions = (status: string, reason: string) => ({ conditions: [{ type: "Suspended", status, reason }] });

test.for([
  ["by its author", { operatingMode: "Suspended" }, {}, /set its spec.operatingMode/],
  ["for idleness", {}, conditions("True", "Idle"), /through the router/],
  ["no longer", { operatingMode: "Running" }, conditions("True", "SandboxSuspended"), /^$/],
  ["not at all", {}, conditions("False", "NotSuspended"), /^$/],
  ["not yet", {}, undefined, /^$/],
] as const)("a sandbox is asleep %s", ([, spec, status, expected]) => {
  expect(whyAsleep({ spec, status } as unknown as Sandbox) ?? "").toMatch(expected);
});

test("paths are made of names, whatever these hold", () => {
  expect(podPath("a", "b/../c", "log")).toBe("/api/v1/namespaces/a/pods/b%2F..%2Fc/log");
  expect(podPath("a", "b")).toBe("/api/v1/namespaces/a/pods/b");
});
