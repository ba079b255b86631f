import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { snapshotsFolder } from "../../packages/node/src/state/snapshot-store.ts";
import { namesIn } from "../../packages/node/src/system/folders.ts";
import { counter } from "../../packages/node/test/state/counter.ts";
import { cannotRun, namespace, podOf, StateBox, soon } from "./state-box.ts";

const podTemplate = podOf(counter("echo $i > /root/count", 1000));

describe.skipIf(cannotRun)("archives of snapshots", () => {
  let box: StateBox;
  let file: string;

  beforeAll(async () => {
    box = await StateBox.start();
    file = join(box.box.dataDir, "web.tar");
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  test("a snapshot is exported, deleted and imported, and a fork continues from it", async () => {
    await box.run("web", { podTemplate });
    await expect.poll(async () => Number(await box.shell("web", "cat /root/count")), soon).toBeGreaterThan(1005);
    await box.snapshot("before", "web");
    const taken = Number(await box.shell("web", "cat /root/count"));
    const exported = await box.box.run("snapshot", "export", "before", "-o", file);
    expect([exported.code, exported.stderr]).toEqual([0, expect.stringContaining("protect it like a password")]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await box.delete("web");
    await expect.poll(() => box.exists(sandboxSnapshots, "before"), soon).toBe(false);
    const imported = await box.box.run("snapshot", "import", file, "--name", "copy");
    expect([imported.code, imported.stderr, imported.stdout]).toEqual([0, "", expect.stringContaining("depth Memory")]);
    await box.run("again", { podTemplate, restoreFrom: { snapshotRef: { name: "copy" } } });
    const count = Number(await box.shell("again", "cat /root/count"));
    expect(count).toBeGreaterThan(1005);
    // It continued from its memory: the program has not begun at 1000 again.
    expect(count).toBeGreaterThanOrEqual(taken - 20);
  });

  test("archives that cannot be used are refused with the reason, and change nothing", async () => {
    const broken = join(box.box.dataDir, "broken.tar");
    writeFileSync(broken, "not an archive".repeat(100));
    const refused = await box.box.run("snapshot", "import", broken);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("ArchiveInvalid")]);
    expect(await box.exists(sandboxSnapshots, "broken")).toBe(false);
    const twice = await box.box.run("snapshot", "import", file, "--name", "copy");
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("already exists")]);
    const nowhere = await box.box.run("snapshot", "import", file, "--name", "a", "-n", "nowhere");
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining("not found")]);
    const missing = await box.box.run("snapshot", "export", "missing", "-o", join(box.box.dataDir, "missing.tar"));
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("not found")]);
    expect(existsSync(join(box.box.dataDir, "missing.tar"))).toBe(false);
    expect((await box.client.list(sandboxSnapshots, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual(
      ["copy"],
    );
  });

  test("a box that is killed in the middle of an import leaves nothing of it, and the import can be repeated", async () => {
    const { box: own } = box;
    const stored = (): Promise<string[]> => namesIn(snapshotsFolder(layoutOf(own.dataDir)));
    const before = await stored();
    const archive = readFileSync(file);
    const pipe = join(own.dataDir, "pipe.tar");
    spawnSync("mkfifo", [pipe]);
    const importing = own.run("snapshot", "import", pipe, "--name", "interrupted");
    const writer = await open(pipe, "w");
    await writer.write(archive.subarray(0, archive.length / 2));
    await expect.poll(async () => (await stored()).filter((name) => name.endsWith(".partial")), soon).toHaveLength(1);
    process.kill(own.pid(), "SIGKILL");
    await writer.close();
    expect((await importing).code).not.toBe(0);
    expect((await own.up()).code).toBe(0);
    expect(await stored()).toEqual(before);
    expect(await box.exists(sandboxSnapshots, "interrupted")).toBe(false);
    expect((await own.run("snapshot", "import", file, "--name", "interrupted")).code).toBe(0);
  });
});
