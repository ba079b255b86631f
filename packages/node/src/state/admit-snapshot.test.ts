import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sandbox, type SandboxSnapshot, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { namespace, openTestApi, type TestApi } from "../testing/test-api.ts";
import { admitSnapshot } from "./admit-snapshot.ts";
import { SnapshotStore } from "./snapshot-store.ts";

const quota = {
  snapshots: 9,
  snapshotsPerNamespace: 2,
  snapshotsPerSandbox: 2,
  snapshotBytes: 1000,
  snapshotBytesPerNamespace: 100,
};
let stateDir: string;
let api: TestApi;
let store: SnapshotStore;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "admit-"));
  api = openTestApi();
  store = new SnapshotStore({ stateDir });
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
const admit = (): Promise<readonly string[]> => {
  const wanted = { metadata: { namespace, name: "new", uid: "new" } } as SandboxSnapshot;
  return admitSnapshot({ client: api.client, store, quota }, wanted, { sandboxUid: "b", bytes: 10 });
};
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
    expect([await admit(), left()]).toEqual([["unused"], ["used"]]);
    expect((await store.list()).map(({ name }) => name)).toEqual(["used"]);
  });

  test("is not made by snapshots that are to be retained", async () => {
    for (const name of ["first", "second"]) await snapshot(name, 1, { deletionPolicy: "Retain" });
    await expect(admit()).rejects.toEqual(expect.objectContaining({ reason: "QuotaExceeded" }));
    expect(left()).toHaveLength(2);
  });
});
