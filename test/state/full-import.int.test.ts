import { spawnSync } from "node:child_process";
import { readFileSync, statfsSync, writeFileSync } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { snapshotsFolder } from "../../packages/node/src/state/snapshot-store.ts";
import { namesIn } from "../../packages/node/src/system/folders.ts";
import { mountTmpfs, unmount } from "../../packages/node/src/system/mounts.ts";
import { counter } from "../../packages/node/test/state/counter.ts";
import { Box, buildCommandLine } from "../e2e/box.ts";
import { cannotRun, podOf, StateBox, soon } from "./state-box.ts";

/** Fills some memory, so that its archive is large, and counts. */
const podTemplate = podOf(
  counter("[ -e /dev/shm/x ] || head -c 32M /dev/urandom >/dev/shm/x; echo $i > /root/count", 1000),
);

describe.skipIf(cannotRun)("a disk that becomes full while a snapshot is imported", { timeout: 180_000 }, () => {
  /** A small filesystem in memory, with the data folder of the box, and a folder beside it. */
  let disk: string;
  let beside: string;
  let box: StateBox;

  beforeAll(async () => {
    buildCommandLine();
    disk = await mkdtemp(join(tmpdir(), "full-"));
    beside = await mkdtemp(join(tmpdir(), "full-"));
    mountTmpfs(disk, { sizeBytes: 768 * 2 ** 20, mode: 0o700 });
    const made = await Box.make(disk);
    // The disk is the only limit.
    const state = { snapshotBytes: 2 ** 30, snapshotBytesPerNamespace: 2 ** 30 };
    const settings = { node: { budget: { diskFreeBytes: 0, inodesFree: 0 }, state } };
    writeFileSync(join(made.dataDir, "config.json"), JSON.stringify(settings));
    const { code, stderr } = await made.up();
    if (code !== 0) throw new Error(`Cannot start the box: ${stderr}`);
    box = await StateBox.of(made);
  }, 180_000);
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    await unmount([disk]);
    await Promise.all([disk, beside].map((folder) => rm(folder, { recursive: true, force: true })));
  }, 120_000);

  const stored = (): Promise<string[]> => namesIn(snapshotsFolder(layoutOf(box.box.dataDir)));
  const count = async (name: string): Promise<number> => Number(await box.shell(name, "cat /root/count"));

  /** Takes the free space of the disk except for some. Returns the function that gives it back. */
  function fill(leaveBytes: number): () => Promise<void> {
    const filler = join(disk, "filler");
    const { bavail, bsize } = statfsSync(disk);
    expect(spawnSync("fallocate", ["--length", String(bavail * bsize - leaveBytes), filler]).status).toBe(0);
    return () => rm(filler);
  }

  test("the import fails with the reason, leaves nothing, and succeeds when there is room", async () => {
    await box.run("web", { podTemplate });
    await expect.poll(() => count("web"), soon).toBeGreaterThan(1005);
    await box.snapshot("taken", "web", { deletionPolicy: "Retain" });
    const file = join(beside, "web.tar");
    expect((await box.box.run("snapshot", "export", "taken", "-o", file)).code).toBe(0);
    const archive = readFileSync(file);
    expect(archive.length).toBeGreaterThan(32 * 2 ** 20);
    const before = await stored();

    const pipe = join(beside, "pipe.tar");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    const importing = box.box.run("snapshot", "import", pipe, "--name", "copy");
    const writer = await open(pipe, "w");
    await writer.write(archive.subarray(0, 8 * 2 ** 20));
    await expect.poll(async () => (await stored()).filter((name) => name.endsWith(".partial")), soon).toHaveLength(1);
    // Some of the first pieces may be on their way. What follows them is larger.
    const empty = fill(16 * 2 ** 20);
    // The command line ends before it has read everything.
    await writer.writeFile(archive.subarray(8 * 2 ** 20)).catch(() => undefined);
    await writer.close();
    const { code, stderr } = await importing;
    expect([code, stderr]).toEqual([1, expect.stringContaining("QuotaExceeded")]);
    expect(await stored()).toEqual(before);
    expect(await box.exists(sandboxSnapshots, "copy")).toBe(false);
    await empty();

    // The box and its sandboxes have come through it.
    const at = await count("web");
    await expect.poll(() => count("web"), soon).toBeGreaterThan(at);
    const repeated = await box.box.run("snapshot", "import", file, "--name", "copy");
    expect([repeated.code, repeated.stderr]).toEqual([0, ""]);
    await box.run("again", { podTemplate, restoreFrom: { snapshotRef: { name: "copy" } } });
    expect(await count("again")).toBeGreaterThan(1005);
  });
});
