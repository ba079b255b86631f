import { expect, test } from "vitest";
import { protectionOf, protectionPatch, volumeProtection } from "./protection.ts";
import { volumeChange } from "./volume-protection.ts";

const at = "2026-01-01T00:00:00Z";
const volume = (metadata: object, phase = "Bound"): object => ({ metadata, status: { phase } });

test.for([
  ["a new one", volume({}), "add"],
  ["a protected one", volume({ finalizers: [volumeProtection] }), "none"],
  ["one deleted while it is bound", volume({ finalizers: [volumeProtection], deletionTimestamp: at }), "none"],
  ["one deleted and free", volume({ finalizers: [volumeProtection], deletionTimestamp: at }, "Released"), "remove"],
  ["one with another finalizer", volume({ finalizers: ["a/b"], deletionTimestamp: at }, "Released"), "none"],
] as const)("a volume's protection: %s", ([, given, expected]) => {
  expect(volumeChange(given)).toBe(expected);
});

test("a finalizer is changed on the observed version, and other finalizers stay", () => {
  const seen = { metadata: { uid: "u", resourceVersion: "7", finalizers: ["a/b", "c/d"] } };
  const preconditions = { uid: "u", resourceVersion: "7" };
  expect(protectionOf(seen, "c/d")).toBe("none");
  expect([protectionPatch(seen, "c/d", "remove"), protectionPatch(seen, "e/f", "add")]).toEqual([
    { type: "merge", body: { metadata: { finalizers: ["a/b"] } }, preconditions },
    { type: "merge", body: { metadata: { finalizers: ["a/b", "c/d", "e/f"] } }, preconditions },
  ]);
});
