import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { namesIn } from "../system/folders.ts";
import { SnapshotStore, type StoredSnapshot, snapshotFile, snapshotFolder, snapshotsFolder } from "./snapshot-store.ts";

const uid = "0f8fad5b-d9cb-469f-a165-70867728950e";
const intent = { podUid: "p", runtime: "gvisor", paused: ["p_main_0"] };
const stored: StoredSnapshot = {
  version: 1,
  uid,
  namespace: "default",
  name: "s",
  sandbox: { name: "box", uid: "b" },
  depth: "Memory",
  epoch: 2,
  runtime: { name: "gvisor", version: "1" },
  containers: [{ name: "main", reference: "host", image: "host" }],
  claims: [],
  pauseMs: 40,
  sizeBytes: 4096,
  createdAt: 0,
};

let stateDir: string;
let store: SnapshotStore;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "snapshots-"));
  store = new SnapshotStore({ stateDir });
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

describe("the store of snapshots", () => {
  test("shows a snapshot only when it is complete", async () => {
    const dir = await store.begin(uid, intent);
    await writeFile(join(dir, "layers", "file"), "x");
    expect([await store.list(), await store.uids()]).toEqual([[], []]);
    await store.commit(stored);
    expect([await store.list(), await store.read(uid)]).toEqual([[stored], stored]);
    expect(await namesIn(snapshotFolder({ stateDir }, uid))).toContain("layers");
    expect(await store.interrupted()).toEqual(new Map());
  });

  test("only the owner can open its folders", async () => {
    await store.begin(uid, intent);
    await store.commit(stored);
    const { mode } = await stat(snapshotFolder({ stateDir }, uid));
    expect(mode & 0o777).toBe(0o700);
  });

  test("knows which Pods an interrupted capture has paused", async () => {
    await store.begin(uid, intent);
    expect(await store.interrupted()).toEqual(new Map([[uid, intent]]));
    await store.abandon(uid);
    expect([await store.interrupted(), await namesIn(snapshotsFolder({ stateDir }))]).toEqual([new Map(), []]);
  });

  test("begins again without the files of an earlier attempt", async () => {
    const dir = await store.begin(uid, intent);
    await writeFile(join(dir, "layers", "old"), "x");
    await store.begin(uid, intent);
    expect(await namesIn(join(dir, "layers"))).toEqual([]);
  });

  test("removes complete and unfinished snapshots", async () => {
    await store.begin(uid, intent);
    await store.commit(stored);
    await store.begin(uid, intent);
    await store.remove(uid);
    expect(await namesIn(snapshotsFolder({ stateDir }))).toEqual([]);
  });

  test("does not show a folder with the record of another snapshot", async () => {
    await store.begin(uid, intent);
    await store.commit({ ...stored, uid });
    const foreign = snapshotFolder({ stateDir }, "other");
    await mkdir(foreign);
    await writeFile(join(foreign, snapshotFile), JSON.stringify(stored));
    expect([await store.read("other"), (await store.list()).length]).toEqual([undefined, 1]);
  });

  test.for(["", "..", "../x", "a/b", "a.partial"])("refuses %j as a UID", async (name) => {
    expect(await store.read(name)).toBeUndefined();
    await expect(store.begin(name, intent)).rejects.toThrow("not a valid UID");
    await expect(store.remove(name)).rejects.toThrow("not a valid UID");
  });
});
