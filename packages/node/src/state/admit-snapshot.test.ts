import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sandbox, type SandboxSnapshot, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DiskReserve, diskSpace } from "../image/disk-room.ts";
import { namespace, openTestApi, type TestApi } from "../testing/test-api.ts";
import { type AdmissionRequest, admitSnapshot } from "./admit-snapshot.ts";
import { SnapshotRoom } from "./snapshot-room.ts";
import { SnapshotStore } from "./snapshot-store.ts";

const quota = {
  snapshots: 9,
  snapshotsPerNamespace: 2,
  snapshotsPerSandbox: 2,
  snapshotBytes: 1000,
  snapshotBytesPerNamespace: 100,
};
const all = (diskFreeBytes: number): DiskReserve => ({ diskFreeBytes, inodesFree: 0 });
let stateDir: string;
let api: TestApi;
let store: SnapshotStore;
let room: SnapshotRoom;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "admit-"));
  api = openTestApi();
  store = new SnapshotStore({ stateDir });
  room = new SnapshotRoom({ quota, folder: stateDir, reserve: all(0) });
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

async function snapshot(name: string, createdAt: number, spec: object = {}): Promise<void> {
  const key = { namespace, name };
  const made = await api.client.create(sandboxSnapshots, {
    metadata: key,
    spec: { sandboxRef: { name: "box" }, ...spec },
  } as SandboxSnapshot);
  const uid = made.metadata.uid ?? "";
  const conditions = [
    { type: "Ready", status: "True", reason: "R", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const patch = { type: "merge", body: { status: { conditions } } } as const;
  await api.client.patch(sandboxSnapshots, key, patch, { subresource: "status" });
  await store.begin(uid, { podUid: "", runtime: "", paused: [] });
  await store.commit({
    version: 1,
    uid,
    ...key,
    sandbox: { name: "box", uid: "b" },
    depth: "Memory",
    epoch: 0,
    runtime: { name: "gvisor", version: "1" },
    containers: [],
    claims: [],
    pauseMs: 0,
    sizeBytes: 10,
    createdAt,
  });
}
const admit = (more: Partial<AdmissionRequest> = {}): Promise<readonly string[]> => {
  const request = { key: "new", namespace, sandboxUid: "b", bytes: 10, diskBytes: 0, ...more };
  return admitSnapshot({ client: api.client, store, room }, request);
};
const written = { isWritten: true };
const refused = { status: "rejected", reason: expect.objectContaining({ reason: "QuotaExceeded" }) };
const left = (): string[] => api.server.readAll(sandboxSnapshots).map(({ metadata }) => metadata.name ?? "");

describe("room for a snapshot", () => {
  test("is there while the namespace is below its limit", async () => {
    await snapshot("first", 1);
    expect([await admit(), left()]).toEqual([[], ["first"]]);
  });

  test("is made by the oldest that nothing refers to", async () => {
    await snapshot("used", 1);
    await snapshot("unused", 2);
    await api.client.create(sandboxes, {
      metadata: { namespace, name: "fork" },
      spec: { podTemplate: { spec: { containers: [] } }, restoreFrom: { snapshotRef: { name: "used" } } },
    } as unknown as Sandbox);
    expect([await admit(written), left()]).toEqual([["unused"], ["used"]]);
    expect((await store.list()).map(({ name }) => name)).toEqual(["used"]);
  });

  test("is promised when a snapshot begins, and made when it is written", async () => {
    for (const [name, time] of [
      ["first", 1],
      ["second", 2],
    ] as const)
      await snapshot(name, time);
    expect([await admit(), left()]).toEqual([[], ["first", "second"]]);
    // It could not be written.
    room.release("new");
    expect(await store.list()).toHaveLength(2);
    expect([await admit(), left()]).toEqual([[], ["first", "second"]]);
    expect([await admit(written), left()]).toEqual([["first"], ["second"]]);
  });

  test("that was promised to one snapshot is not promised to another", async () => {
    for (const [name, time] of [
      ["first", 1],
      ["second", 2],
    ] as const)
      await snapshot(name, time);
    await admit({ key: "one" });
    await admit({ key: "two" });
    await expect(admit({ key: "three" })).rejects.toMatchObject({ reason: "QuotaExceeded" });
    expect([await admit({ key: "one", ...written }), left()]).toEqual([["first"], ["second"]]);
    expect([await admit({ key: "two", ...written }), left()]).toEqual([["second"], []]);
  });

  test("that a namespace makes for itself costs no other namespace a snapshot", async () => {
    for (const [name, time] of [
      ["first", 1],
      ["second", 2],
    ] as const)
      await snapshot(name, time);
    room = new SnapshotRoom({ quota: { ...quota, snapshots: 3 }, folder: stateDir, reserve: all(0) });
    await admit();
    expect(await admit({ key: "other", namespace: "other" })).toEqual([]);
    await expect(admit({ key: "next", namespace: "other" })).rejects.toThrow("this node may have 3 snapshots");
  });

  test("is not made by snapshots that are to be retained", async () => {
    for (const name of ["first", "second"]) await snapshot(name, 1, { deletionPolicy: "Retain" });
    await expect(admit()).rejects.toEqual(expect.objectContaining({ reason: "QuotaExceeded" }));
    expect(left()).toHaveLength(2);
  });

  test("is not given twice to snapshots that are taken at the same time", async () => {
    const [first, second] = await Promise.allSettled(["one", "two"].map((key) => admit({ key, bytes: 60 })));
    expect([first?.status, second]).toEqual(["fulfilled", refused]);
    room.release("one");
    expect(await admit({ key: "two", bytes: 60 })).toEqual([]);
  });

  test("of the node is not given twice to two namespaces", async () => {
    room = new SnapshotRoom({ quota: { ...quota, snapshots: 1 }, folder: stateDir, reserve: all(0) });
    const [first, second] = await Promise.allSettled(["a", "b"].map((name) => admit({ key: name, namespace: name })));
    expect([first?.status, second]).toEqual(["fulfilled", refused]);
  });

  test("counts a snapshot once that is complete and not yet released", async () => {
    await admit({ key: "one", bytes: 40 });
    await snapshot("first", 1);
    const [complete] = await store.list();
    await admit({ key: complete?.uid ?? "", bytes: 40 });
    room.release("one");
    // 10 bytes are complete, and 90 are left of the namespace's 100.
    expect(await admit({ key: "two", bytes: 90 })).toEqual([]);
  });

  test("is on the disk, without its reserve and without what other snapshots still write", async () => {
    const { freeBytes } = await diskSpace(stateDir);
    const half = freeBytes / 2;
    room = new SnapshotRoom({ quota, folder: stateDir, reserve: all(freeBytes / 4) });
    await expect(admit({ key: "large", diskBytes: freeBytes })).rejects.toThrow(/of which this node keeps \d+/);
    await admit({ key: "one", diskBytes: half, namespace: "a" });
    await expect(admit({ key: "two", diskBytes: half })).rejects.toThrow(/other snapshots need \d+/);
    // The first one is written. Its bytes are no longer free, or no longer used.
    await admit({ key: "one", diskBytes: 0, namespace: "a" });
    await admit({ key: "two", diskBytes: half });
  });

  test("is there for a written snapshot, whatever others still write", async () => {
    await admit({ key: "own", diskBytes: 1 });
    // Counted in full although most of it may be written.
    const counted = { uid: "other", namespace: "a", name: "", sandbox: { uid: "c" }, sizeBytes: 1, createdAt: 0 };
    room.reserve("other", { counted, diskBytes: Number.MAX_SAFE_INTEGER, replaced: [] });
    await expect(admit({ key: "new", diskBytes: 1 })).rejects.toThrow("other snapshots need");
    expect(await admit({ key: "own", ...written })).toEqual([]);
  });

  test("a snapshot for which the disk has no room deletes no other one", async () => {
    for (const name of ["first", "second"]) await snapshot(name, 1);
    await expect(admit({ diskBytes: Number.MAX_SAFE_INTEGER })).rejects.toThrow("it needs");
    expect(left()).toHaveLength(2);
  });

  test("work is aborted when only the reserve is left", async () => {
    room = new SnapshotRoom({ quota, folder: stateDir, reserve: all(Number.MAX_SAFE_INTEGER) });
    await expect(room.guard(async () => 7)).rejects.toMatchObject({ reason: "QuotaExceeded" });
  });
});
