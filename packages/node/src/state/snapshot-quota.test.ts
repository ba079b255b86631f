import { describe, expect, test } from "vitest";
import { countTogether, makeRoom, type QuotaRequest, type SnapshotQuota } from "./snapshot-quota.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";

const quota: SnapshotQuota = {
  snapshots: 3,
  snapshotsPerNamespace: 2,
  snapshotsPerSandbox: 2,
  snapshotBytes: 150,
  snapshotBytesPerNamespace: 100,
};
const snapshot = (uid: string, createdAt: number, more: Partial<StoredSnapshot> = {}): StoredSnapshot => ({
  version: 1,
  uid,
  namespace: "a",
  name: uid,
  sandbox: { name: "box", uid: "b" },
  depth: "Memory",
  epoch: 0,
  runtime: { name: "gvisor", version: "1" },
  containers: [],
  claims: [],
  pauseMs: 0,
  sizeBytes: 10,
  createdAt,
  ...more,
});
const [newer, older] = [snapshot("newer", 2), snapshot("older", 1)];
const foreign = snapshot("foreign", 0, { namespace: "b" });
const request = (more: Partial<QuotaRequest> = {}): QuotaRequest => ({
  namespace: "a",
  sandboxUid: "other",
  bytes: 10,
  evictable: new Set(),
  ...more,
});

describe("the quota of snapshots", () => {
  test.for([
    ["room without removing anything", [newer], request(), { evict: [] }],
    ["too many in the namespace", [newer, older], request(), { refusal: 'the namespace "a" may have 2 snapshots' }],
    [
      "the oldest that may be removed makes room",
      [newer, older],
      request({ evictable: new Set(["newer", "older"]) }),
      { evict: [older] },
    ],
    ["one in use stays", [newer, older], request({ evictable: new Set(["newer"]) }), { evict: [newer] }],
    [
      "several are removed for a large one",
      [newer, older],
      request({ bytes: 95, evictable: new Set(["newer", "older"]) }),
      { evict: [older, newer] },
    ],
    [
      "one that is too large alone",
      [],
      request({ bytes: 101 }),
      { refusal: 'the snapshots of the namespace "a" may have 100 bytes together' },
    ],
    [
      "those of other namespaces are never removed",
      [foreign, snapshot("f2", 0, { namespace: "b" }), snapshot("f3", 0, { namespace: "c" })],
      request({ evictable: new Set(["foreign", "f2", "f3"]) }),
      { refusal: "this node may have 3 snapshots" },
    ],
    [
      "the node is full of others' bytes",
      [snapshot("f", 0, { namespace: "b", sizeBytes: 145 })],
      request(),
      { refusal: "the snapshots of this node may have 150 bytes together" },
    ],
  ] as const)("%s", ([, stored, wanted, expected]) => {
    expect(makeRoom(stored, wanted, quota)).toEqual(expected);
  });

  test("a Sandbox with too many loses its own oldest, and not that of another", () => {
    const large = { ...quota, snapshots: 9, snapshotsPerNamespace: 9 };
    const oldest = snapshot("oldest", 0, { sandbox: { name: "other", uid: "o" } });
    const wanted = request({ sandboxUid: "b", evictable: new Set(["newer", "older", "oldest"]) });
    expect(makeRoom([newer, older, oldest], wanted, large)).toEqual({ evict: [older] });
    expect(
      makeRoom([newer, older, oldest], request({ sandboxUid: "b", evictable: new Set(["oldest"]) }), large),
    ).toEqual({
      refusal: "the Sandbox may have 2 snapshots",
    });
  });
});

describe("a snapshot that is being written counts", () => {
  const counted = (sizeBytes: number) => snapshot("new", 0, { sizeBytes });
  const sizes = (own: number, replaced: readonly StoredSnapshot[]): number[] =>
    countTogether([newer, older, foreign], [{ counted: counted(own), diskBytes: 0, replaced }])
      .map(({ sizeBytes }) => sizeBytes)
      .toSorted((a, b) => a - b);

  test.for([
    ["in addition to all others if it replaces none", 7, [], [7, 10, 10, 10]],
    ["instead of what it replaces, if it is larger", 15, [older], [10, 10, 15]],
    ["as what it replaces if that is larger, because it may fail", 5, [older], [10, 10, 10]],
    ["as all that it replaces", 25, [older, newer], [10, 10, 15]],
  ] as const)("%s", ([, own, replaced, expected]) => {
    expect(sizes(own, replaced)).toEqual(expected);
  });

  test("once when it is complete", () => {
    const pending = { counted: counted(10), diskBytes: 0, replaced: [] };
    expect(countTogether([counted(10), foreign], [pending]).map(({ uid }) => uid)).toEqual(["new", "foreign"]);
  });
});
