import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Pod, type Sandbox, type SandboxSnapshot, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keptPaths } from "../image/kept-rootfs.ts";
import { layoutOf } from "../layout.ts";
import type { Effects } from "../pod/effects.ts";
import type { Machine } from "../pod/machine.ts";
import type { PodRecord } from "../pod/record.ts";
import { keepingMetadata, namespace, openTestApi, type TestApi } from "../testing/test-api.ts";
import { openSnapshot, placeFiles } from "./restore-snapshot.ts";
import { layerIn, SnapshotStore, snapshotFolder } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";

let stateDir: string;
let api: TestApi;
let store: SnapshotStore;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "restore-"));
  api = openTestApi();
  store = new SnapshotStore({ stateDir });
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

async function sandbox(name: string, restoreFrom?: string): Promise<Sandbox> {
  const from = restoreFrom === undefined ? {} : { restoreFrom: { snapshotRef: { name: restoreFrom } } };
  const spec = { podTemplate: { spec: { containers: [] } }, ...from };
  return api.client.create(sandboxes, { metadata: { namespace, name }, spec } as unknown as Sandbox);
}

/** A snapshot with files of this node. */
async function snapshot(
  name: string,
  source: Sandbox,
  { place = namespace, ready = "True" }: { readonly place?: string; readonly ready?: "True" | "False" } = {},
): Promise<string> {
  const key = { namespace: place, name };
  const made = await api.client.create(sandboxSnapshots, {
    metadata: key,
    spec: { sandboxRef: { name: source.metadata.name } },
  } as SandboxSnapshot);
  const conditions = [
    { type: "Ready", status: ready, reason: "R", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const patch = { type: "merge", body: { status: { conditions } } } as const;
  await api.client.patch(sandboxSnapshots, key, patch, { subresource: "status" });
  const uid = made.metadata.uid ?? "";
  await store.begin(uid, { podUid: "", runtime: "", paused: [] });
  await store.commit({
    version: 1,
    uid,
    ...key,
    sandbox: { name: source.metadata.name ?? "", uid: source.metadata.uid ?? "" },
    depth: "Memory",
    epoch: 0,
    runtime: { name: "gvisor", version: "1" },
    containers: [{ name: "main", reference: "host", image: "host" }],
    claims: [],
    pauseMs: 0,
    sizeBytes: 0,
    createdAt: 0,
  });
  return uid;
}

/** Opens a snapshot for the Pod of a Sandbox. */
function open(owner: Sandbox, uid: string, image = "host"): ReturnType<typeof openSnapshot> {
  const { name = "" } = owner.metadata;
  const pod: Pod = {
    metadata: { namespace, name, ...keepingMetadata(owner) },
    spec: { containers: [{ name: "main", image }] },
  };
  const record = { namespace, keptFor: owner.metadata.uid ?? "" } as PodRecord;
  const machine = { snapshots: store, layout: { stateDir } };
  return openSnapshot({ machine, client: api.client } as unknown as Effects, pod, record, uid);
}
const refused = (reason: string) => expect.objectContaining({ reason });

describe("the snapshot that a Pod names", () => {
  test("can be one that its Sandbox names", async () => {
    const uid = await snapshot("s", await sandbox("source"));
    expect(await open(await sandbox("fork", "s"), uid)).toMatchObject({ stored: { uid, name: "s" } });
  });

  test("can be one of its own Sandbox", async () => {
    const source = await sandbox("source");
    const uid = await snapshot("s", source);
    expect(await open(source, uid)).toMatchObject({ stored: { uid } });
  });

  test("cannot be a snapshot of another Sandbox that its Sandbox does not name", async () => {
    const uid = await snapshot("s", await sandbox("source"));
    await expect(open(await sandbox("thief"), uid)).rejects.toEqual(refused("SnapshotNotFound"));
  });

  test("cannot be a snapshot of another namespace, also under a name that its Sandbox names", async () => {
    const uid = await snapshot("s", await sandbox("source"), { place: "victim" });
    const thief = await sandbox("thief", "s");
    await expect(open(thief, uid)).rejects.toEqual(refused("SnapshotNotFound"));
    await snapshot("s", thief);
    await expect(open(thief, uid)).rejects.toEqual(refused("SnapshotNotFound"));
  });

  test("cannot be an earlier snapshot of the same name", async () => {
    const source = await sandbox("source");
    const uid = await snapshot("s", source);
    await api.client.delete(sandboxSnapshots, { namespace, name: "s" });
    await snapshot("s", source);
    await expect(open(await sandbox("fork", "s"), uid)).rejects.toEqual(refused("SnapshotNotFound"));
  });

  test("cannot be used by a Pod whose Sandbox was replaced by one of the same name", async () => {
    const source = await sandbox("source");
    const uid = await snapshot("s", source);
    await api.client.delete(sandboxes, { namespace, name: "source" });
    await sandbox("source", "s");
    await expect(open(source, uid)).rejects.toEqual(refused("SnapshotNotFound"));
  });

  test.for(["", "..", "../../pods", "0f8fad5b"])("cannot be %j", async (uid) => {
    await expect(open(await sandbox("fork", "s"), uid)).rejects.toEqual(refused("SnapshotNotFound"));
  });

  test("must be ready", async () => {
    const uid = await snapshot("s", await sandbox("source"), { ready: "False" });
    await expect(open(await sandbox("fork", "s"), uid)).rejects.toEqual(refused("SnapshotNotReady"));
  });

  test("must have been taken over the same images", async () => {
    const source = await sandbox("source");
    const uid = await snapshot("s", source);
    await expect(open(source, uid, "busybox:1")).rejects.toEqual(refused("RestoreFailed"));
  });
});

describe("the files of a damaged snapshot", () => {
  const damaged = (): Promise<void> => Promise.reject(new StateError("ImageDamaged", "damaged"));

  async function place(owner: Sandbox, uid: string): Promise<void> {
    const found = await open(owner, uid);
    await mkdir(layerIn(snapshotFolder({ stateDir }, uid), "main"));
    const machine = { layout: layoutOf(stateDir), trash: { discard: (path: string) => rm(path, { recursive: true }) } };
    const record = { uid: "pod", namespace, keptFor: owner.metadata.uid ?? "" } as PodRecord;
    const fillVolumes = (): Promise<void> => Promise.resolve();
    await placeFiles(machine as unknown as Machine, record, found, { fillVolumes, verified: damaged() });
  }

  test("do not replace those of a Sandbox that is rolled back", async () => {
    const source = await sandbox("source");
    const { upper } = keptPaths(layoutOf(stateDir), source.metadata.uid ?? "", "main");
    await mkdir(upper, { recursive: true });
    await writeFile(join(upper, "file"), "present");
    await expect(place(source, await snapshot("s", source))).rejects.toEqual(refused("ImageDamaged"));
    expect(await readFile(join(upper, "file"), "utf8")).toBe("present");
  });
});
