import type { PersistentVolumeClaim } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import { type ClaimAction, decideClaim } from "./decide-claim.ts";
import { claimFolder, type PersistentVolume, volumeFor } from "./local-volume.ts";
import { claimProtection } from "./protection.ts";

const layout = layoutOf("/data");

function claim(uid: string, spec: object = {}, status?: object): PersistentVolumeClaim {
  return {
    metadata: { namespace: "n", name: "c", uid, finalizers: [claimProtection] },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
    ...(status && { status }),
  };
}

const volume = (uid: string, more: Partial<PersistentVolume> = {}): PersistentVolume => ({
  ...volumeFor(claim(uid), layout, false),
  status: { phase: "Bound" },
  ...more,
});

const bound = (uid: string, spec: object = {}): PersistentVolumeClaim =>
  claim(uid, { volumeName: `pvc-${uid}`, ...spec }, { phase: "Bound", capacity: { storage: "1Gi" } });

const without = (given: PersistentVolumeClaim): PersistentVolumeClaim => ({
  ...given,
  metadata: { ...given.metadata, finalizers: [] },
});
const going = (given: PersistentVolumeClaim): PersistentVolumeClaim => ({
  ...given,
  metadata: { ...given.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
});

const what = (actions: readonly ClaimAction[]): string[] => actions.map((action) => action.do);

describe("decideClaim()", () => {
  test.each([
    ["a new claim gets a volume", claim("a"), [], ["provision", "bind"]],
    [
      "a claim that names our class gets a volume",
      claim("a", { storageClassName: "local" }),
      [],
      ["provision", "bind"],
    ],
    ["a claim of another class is ignored", claim("a", { storageClassName: "fast" }), [], []],
    ["a claim with an empty class is ignored", claim("a", { storageClassName: "" }), [], []],
    ["a claim that names a volume is ignored", claim("a", { volumeName: "mine" }), [], []],
    ["the binding continues after a crash", claim("a"), [volume("a")], ["bind"]],
    ["a half-written binding is completed", bound("a"), [volume("a", { status: {} })], ["bind"]],
    ["a bound claim is not changed", bound("a"), [volume("a")], []],
    [
      "a claim that grew is told its size",
      bound("a", { resources: { requests: { storage: "2Gi" } } }),
      [volume("a")],
      ["bind"],
    ],
    ["a volume is deleted with its claim", undefined, [volume("a")], ["reclaim"]],
    [
      "a new claim with the same name does not get the old volume",
      claim("b"),
      [volume("a")],
      ["reclaim", "provision", "bind"],
    ],
    ["a claim whose finalizer was removed gets it back", without(bound("a")), [volume("a")], ["protect"]],
    [
      "a claim of another class gets its finalizer back too",
      without(claim("a", { storageClassName: "fast" })),
      [],
      ["protect"],
    ],
    ["a claim that is deleted keeps its volume until it is gone", going(bound("a")), [volume("a")], ["unprotect"]],
    ["a claim that is deleted gets no volume", going(claim("a")), [], ["unprotect"]],
    ["a claim with other finalizers only is not changed", going(without(bound("a"))), [volume("a")], []],
    ["another tenant's volume by name", claim("a", { volumeName: "pvc-victim" }), [], []],
    ["a block volume is refused", claim("a", { volumeMode: "Block" }), [], ["refuse"]],
    [
      "a data source is refused",
      claim("a", { dataSource: { kind: "PersistentVolumeClaim", name: "x" } }),
      [],
      ["refuse"],
    ],
  ] as const)("%s", (_name, given, volumes, expected) => {
    expect(what(decideClaim({ claim: given, volumes }))).toEqual(expected);
  });

  test("a volume with the reclaim policy Retain is kept", () => {
    const kept = volume("a");
    const spec = { ...kept.spec, persistentVolumeReclaimPolicy: "Retain" };
    expect(decideClaim({ claim: undefined, volumes: [{ ...kept, spec }] })).toEqual([]);
  });
});

test.each(["", "..", "a/b", "../../etc", "a\0b"])(
  "the folder of a claim is never outside the data folder: %j",
  (uid) => {
    expect(() => claimFolder(layout, uid)).toThrow("not a valid UID");
  },
);
