import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { lastUsed } from "./last-used.ts";

const at = "2026-01-01T00:00:00Z";
const sandbox = (idlePolicy: object | undefined, activity: string | undefined): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {
    name: "a",
    ...(activity !== undefined && { annotations: { "agents.x-k8s.io/last-activity": activity } }),
  },
  spec: { podTemplate: { spec: { containers: [] } }, ...(idlePolicy && { idlePolicy }) },
});

test("is known in quarters of the time after which the sandbox sleeps", () => {
  expect(lastUsed(sandbox({ suspendAfterSeconds: 1800 }, at))).toEqual({ at, everyMs: 450_000 });
});

test("is not known without an idle policy, which nobody records for", () => {
  expect(lastUsed(sandbox(undefined, at))).toBeUndefined();
});

test("is not known before the first use, and not from a text that is not a time", () => {
  expect(lastUsed(sandbox({ deleteAfterSeconds: 60 }, undefined))).toBeUndefined();
  expect(lastUsed(sandbox({ deleteAfterSeconds: 60 }, "<b>now</b>"))).toBeUndefined();
});
