import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { containerPaths, layoutOf } from "../layout.ts";
import type { FairLimiter } from "../system/fair-limiter.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";
import { StateError } from "./state-error.ts";
import { takeInTurn } from "./take-in-turn.ts";
import type { Capture } from "./take-snapshot.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "turn-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A Pod under runc whose container has written a file. `events` gets what happens. */
async function captureOf(events: string[], more: { readonly dataDir?: string } = {}): Promise<Capture> {
  const layout = { ...layoutOf(folder), ...more };
  const { upper } = containerPaths(layout, "pod", "main");
  await mkdir(upper, { recursive: true });
  await writeFile(join(upper, "data"), Buffer.alloc(1 << 20, 1));
  const slot = (name: string): Pick<FairLimiter, "run"> => ({
    run: (_key, work) => {
      events.push(name);
      return work();
    },
  });
  const admit = async ({ bytes }: SnapshotNeeds): Promise<void> => {
    events.push(bytes >= 1 << 20 ? "admitted" : "nothing counted");
    throw new StateError("QuotaExceeded", "full");
  };
  return {
    machine: {
      layout,
      runtimes: new Map([["runc", {}]]),
      saves: slot("save"),
      standstill: slot("standstill"),
    },
    snapshot: { metadata: { uid: "s" }, spec: { depth: "Filesystem" } },
    sandbox: { metadata: {}, spec: {} },
    pod: { spec: { containers: [{ name: "main" }] } },
    record: { uid: "pod", namespace: "a", containers: { main: { attempt: 0, runtime: "runc" } } },
    admit,
  } as unknown as Capture;
}

test("files are counted before a slot for saves is taken", async () => {
  const events: string[] = [];
  const capture = await captureOf(events);
  const { layout } = capture.machine;
  const saves = {
    run: async <T>(_key: string, work: () => Promise<T>): Promise<T> => {
      await rm(containerPaths(layout, "pod", "main").upper, { recursive: true });
      events.push("save");
      return work();
    },
  };
  Object.assign(capture.machine, { saves });
  await expect(takeInTurn(capture)).rejects.toThrow("full");
  expect(events).toEqual(["save", "standstill", "admitted"]);
  // Nothing is left of the estimate.
  expect(await readdir(layout.dataDir)).toEqual(["pods"]);
});

test("needs that cannot be estimated are a failure of the snapshot, and take no slot", async () => {
  const events: string[] = [];
  const file = join(folder, "file");
  await writeFile(file, "");
  // The next start removes files with this prefix.
  await expect(takeInTurn(await captureOf(events, { dataDir: file }))).rejects.toMatchObject({
    name: "StateError",
    reason: "SaveFailed",
    message: expect.stringContaining("/probe-"),
  });
  expect(events).toEqual([]);
});

test("a full disk is a quota also while needs are estimated", async () => {
  const events: string[] = [];
  const capture = await captureOf(events);
  const full = Object.assign(new Error("ENOSPC: no space left on device, mkdtemp"), { code: "ENOSPC" });
  const machine = Object.defineProperty({ ...capture.machine }, "layout", {
    get: () => {
      throw full;
    },
  });
  await expect(takeInTurn({ ...capture, machine })).rejects.toMatchObject({ reason: "QuotaExceeded" });
  expect(events).toEqual([]);
});
