import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { lifetimePatch, timeIn } from "./lifetime.ts";

const sandbox = (spec: object = {}, metadata: object = {}): Sandbox =>
  ({ metadata, spec: { podTemplate: {}, ...spec } }) as unknown as Sandbox;
const claimed = { ownerReferences: [{ kind: "SandboxClaim", name: "c", uid: "c", controller: true }] };

test("times have whole seconds", () => {
  expect(timeIn(60, Date.UTC(2026, 0, 1, 0, 0, 0, 999))).toBe("2026-01-01T00:01:00Z");
});

test.for<[string, object, object]>([
  [
    "a first end deletes the sandbox",
    lifetimePatch(sandbox(), "t"),
    { spec: { shutdownTime: "t", shutdownPolicy: "Delete" } },
  ],
  ["a later end keeps the policy", lifetimePatch(sandbox({ shutdownTime: "s" }), "t"), { spec: { shutdownTime: "t" } }],
  [
    "no end removes the time",
    lifetimePatch(sandbox({ shutdownTime: "s" }), undefined),
    { spec: { shutdownTime: null } },
  ],
  [
    "a claim sets the lifetime of its sandbox",
    lifetimePatch(sandbox({}, claimed), "t"),
    { spec: { lifecycle: { shutdownTime: "t", shutdownPolicy: "Delete" } } },
  ],
])("%s", ([, patch, expected]) => {
  expect(patch).toEqual(expected);
});
