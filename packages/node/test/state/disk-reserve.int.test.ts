import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { snapshotsFolder } from "../../src/state/snapshot-store.ts";
import { namesIn } from "../../src/system/folders.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, makeSandbox } from "./saved-pods.ts";
import { bareSandbox, failureOf, takeSnapshot } from "./snapshots.ts";

const run = (program: string, ...args: string[]): string => execFileSync(program, args, { encoding: "utf8" });
const mebibyte = 2 ** 20;
const spec = { containers: [{ name: "main", image: "host", command: ["sleep", "infinity"] }] };
const write = (mebibytes: number): string => `head -c ${mebibytes}M /dev/urandom > /root/data`;

describe.skipIf(cannotRun)("the reserve of a small disk", () => {
  let box: TestBox;
  let folder: string;
  /** A small filesystem with the data folder. */
  let disk: string;
  let dataDir: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "node-int-"));
    disk = join(folder, "disk");
    await mkdir(disk);
    run("truncate", "--size=700M", `${disk}.img`);
    run("mkfs.ext4", "-q", `${disk}.img`);
    run("mount", "-o", "loop", `${disk}.img`, disk);
    dataDir = join(disk, "data");
    const budget = { diskFreeBytes: 200 * mebibyte, inodesFree: 0 };
    // Only the disk limits the snapshots.
    const state = { snapshotBytes: 2 ** 40, snapshotBytesPerNamespace: 2 ** 40 };
    box = await openTestBox({ dataDir, budget, state });
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    run("umount", disk);
    await rm(folder, { recursive: true, force: true });
  });

  const free = (): number => {
    const { bavail, bsize } = statfsSync(disk);
    return bavail * bsize;
  };
  const stored = (): Promise<string[]> => namesIn(snapshotsFolder(layoutOf(dataDir)));

  test.for(["Memory", "Filesystem"] as const)("is not used by files of a snapshot of depth %s", async (depth) => {
    const name = depth.toLowerCase();
    const source = await bareSandbox(box, name, { spec });
    await source.start();
    // A copy of it would leave less than the reserve.
    await box.shell(name, write(Math.floor((free() / mebibyte - 200) * 0.7)));
    const refused = await takeSnapshot(box, name, name, { depth });
    expect(failureOf(refused)).toBe("QuotaExceeded");
    expect(refused.status?.conditions?.find(({ type }) => type === "Failed")?.message).toContain("this node keeps");
    expect(await stored()).toEqual([]);
    expect(free()).toBeGreaterThan(200 * mebibyte);
    await box.api.until(name, isReady);
    await box.shell(name, write(10));
    expect(failureOf(await takeSnapshot(box, `${name}-small`, name, { depth }))).toBeUndefined();
    for (const one of [name, `${name}-small`]) await box.api.client.delete(sandboxSnapshots, { namespace, name: one });
    await box.remove(name);
    await expect.poll(stored, { timeout: 30_000 }).toEqual([]);
  });

  test("is not used by a snapshot of a suspended Sandbox", async () => {
    const sandbox = await makeSandbox(box, "asleep", spec);
    await sandbox.start();
    await box.shell("asleep", write(Math.floor((free() / mebibyte - 200) * 0.6)));
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    const refused = await takeSnapshot(box, "asleep", "asleep");
    expect(failureOf(refused)).toBe("QuotaExceeded");
    expect(await stored()).toEqual([]);
    expect(free()).toBeGreaterThan(200 * mebibyte);
    expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("True");
  });
});
