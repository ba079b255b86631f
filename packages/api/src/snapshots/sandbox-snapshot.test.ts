import { describe, expect, test } from "vitest";
import { admit } from "../admission.ts";
import type { SandboxSnapshotSpec } from "./sandbox-snapshot.ts";

const snapshot = (spec: object) => ({
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  metadata: { name: "s", namespace: "default" },
  spec,
});
const ofSandbox: SandboxSnapshotSpec = { sandboxRef: { name: "a" } };
const full: SandboxSnapshotSpec = {
  ...ofSandbox,
  depth: "Memory",
  volumes: "Include",
  ttlSecondsAfterCreation: 60,
  deletionPolicy: "Delete",
};

function problems(spec: object, old?: object): readonly string[] {
  const admission = admit(snapshot(spec), old === undefined ? undefined : snapshot(old));
  return "errors" in admission ? admission.errors.map(({ message, field }) => `${field}: ${message}`) : [];
}

describe("the spec of a SandboxSnapshot", () => {
  test("gets the defaults of its policies, but no depth", () => {
    expect(admit(snapshot(ofSandbox))).toMatchObject({
      object: { spec: { ...ofSandbox, volumes: "Include", deletionPolicy: "Delete" } },
    });
  });

  test.for([
    ["a Sandbox", full],
    ["a claim", { claimRef: { name: "a" } }],
  ] as const)("names %s", ([, spec]) => {
    expect(problems(spec)).toEqual([]);
  });

  test.for([
    ["no source", {}, "exactly one of sandboxRef and claimRef is required"],
    ["two sources", { ...ofSandbox, claimRef: { name: "a" } }, "exactly one of sandboxRef and claimRef is required"],
    ["a source without a name", { sandboxRef: {} }, "Required value"],
    ["a source with an empty name", { sandboxRef: { name: "" } }, "sandboxRef.name"],
    ["a name that is too long", { sandboxRef: { name: "a".repeat(254) } }, "sandboxRef.name"],
    ["another depth", { ...ofSandbox, depth: "Volumes" }, "Unsupported value"],
    ["another policy", { ...ofSandbox, deletionPolicy: "Keep" }, "Unsupported value"],
    ["no time to live", { ...ofSandbox, ttlSecondsAfterCreation: 0 }, "ttlSecondsAfterCreation"],
    ["more than ten years", { ...ofSandbox, ttlSecondsAfterCreation: 315_360_001 }, "ttlSecondsAfterCreation"],
  ] as const)("is refused: %s", ([, spec, message]) => {
    expect(problems(spec).join()).toContain(message);
  });

  test.for([
    ["another Sandbox", { ...full, sandboxRef: { name: "b" } }, "sandboxRef is immutable"],
    ["a claim instead of a Sandbox", { ...full, sandboxRef: undefined, claimRef: { name: "a" } }, "is immutable"],
    ["another depth", { ...full, depth: "Filesystem" }, "depth is immutable"],
    ["no depth", { ...full, depth: undefined }, "depth is immutable"],
    ["other volumes", { ...full, volumes: "Exclude" }, "volumes is immutable"],
  ] as const)("cannot change to %s", ([, spec, message]) => {
    expect(problems(JSON.parse(JSON.stringify(spec)), full).join()).toContain(message);
  });

  test("can change how long the snapshot is kept", () => {
    const { ttlSecondsAfterCreation: _, ...forever } = full;
    expect(problems({ ...full, ttlSecondsAfterCreation: 600, deletionPolicy: "Retain" }, full)).toEqual([]);
    expect(problems(forever, full)).toEqual([]);
  });
});
