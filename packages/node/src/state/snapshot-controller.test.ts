import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SandboxSnapshot, sandboxSnapshots } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { namespace, openTestApi } from "../testing/test-api.ts";
import { endInterruptedCaptures, sweepSnapshots } from "./snapshot-controller.ts";
import { SnapshotStore, type StoredSnapshot } from "./snapshot-store.ts";

const stored = (uid: string): StoredSnapshot => ({
  version: 1,
  uid,
  namespace,
  name: "s",
  sandbox: { name: "box", uid: "b" },
  depth: "Filesystem",
  epoch: 0,
  runtime: { name: "runc", version: "" },
  containers: [],
  claims: [],
  pauseMs: 0,
  sizeBytes: 0,
  createdAt: 0,
});
const nothingPaused = { podUid: "", runtime: "", paused: [] };

test("files whose snapshot is gone are removed, and those of others stay", async ({ onTestFinished }) => {
  const stateDir = await mkdtemp(join(tmpdir(), "sweep-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  const { client } = openTestApi();
  const store = new SnapshotStore({ stateDir });
  const made = await client.create(sandboxSnapshots, {
    metadata: { namespace, name: "s" },
    spec: { sandboxRef: { name: "box" } },
  } as SandboxSnapshot);
  const uid = made.metadata.uid ?? "";
  for (const one of [uid, "gone"]) {
    await store.begin(one, nothingPaused);
    await store.commit(stored(one));
  }
  expect(await sweepSnapshots(client, store)).toEqual(["gone"]);
  expect(await store.uids()).toEqual([uid]);
});

test("an interrupted capture resumes what it paused before its files are removed", async ({ onTestFinished }) => {
  const stateDir = await mkdtemp(join(tmpdir(), "sweep-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  const snapshots = new SnapshotStore({ stateDir });
  await snapshots.begin("u", { podUid: "p", runtime: "gvisor", paused: ["p_main_0"] });
  const resumed: string[] = [];
  const resume = async (id: string): Promise<void> => {
    expect([...(await snapshots.interrupted()).keys()]).toEqual(["u"]);
    resumed.push(id);
  };
  const runtimes = new Map([["gvisor", { checkpoints: { resume } }]]);
  await endInterruptedCaptures({ snapshots, runtimes } as never);
  expect(resumed).toEqual(["p_main_0"]);
  expect(await snapshots.interrupted()).toEqual(new Map());
});
