import { spawnSync } from "node:child_process";
import { statfsSync, watch } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Pod, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { snapshotsFolder } from "../../src/state/snapshot-store.ts";
import { namesIn } from "../../src/system/folders.ts";
import { mountTmpfs, unmount } from "../../src/system/mounts.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, conditionOf, makeSandbox, type SavedSandbox } from "./saved-pods.ts";
import { bareSandbox, failureOf, takeSnapshot } from "./snapshots.ts";

/** Chooses a number when it starts, which only its memory has, and shows it on request. */
const program = `
import os, signal, time
number = os.urandom(8).hex()
memory = os.urandom(8 << 20)
def show(*_):
    with open("/dev/shm/number", "w") as file:
        file.write(number)
signal.signal(signal.SIGUSR1, show)
show()
while True:
    time.sleep(1)
`;
const spec = {
  containers: [
    {
      name: "main",
      image: "host",
      command: ["python3", "-c", program],
      readinessProbe: { exec: { command: ["test", "-s", "/dev/shm/number"] }, periodSeconds: 1 },
    },
  ],
};

describe.skipIf(cannotRun)("a full disk", () => {
  let box: TestBox;
  /** A small filesystem in memory, with the data folder. */
  let disk: string;
  let dataDir: string;

  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), "node-int-"));
    mountTmpfs(disk, { sizeBytes: 512 * 2 ** 20, mode: 0o700 });
    dataDir = join(disk, "data");
    // Only the disk limits the snapshots.
    const state = { snapshotBytes: 2 ** 40, snapshotBytesPerNamespace: 2 ** 40 };
    box = await openTestBox({ dataDir, budget: { diskFreeBytes: 0, inodesFree: 0 }, state });
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await unmount([disk]);
    await rm(disk, { recursive: true, force: true });
  });

  /** Leaves so many bytes free. Returns the function that makes room again. */
  function fill(leaveBytes: number): () => Promise<void> {
    const filler = join(disk, "filler");
    const { bavail, bsize } = statfsSync(disk);
    const filled = spawnSync("fallocate", ["--length", String(bavail * bsize - leaveBytes), filler]);
    expect(filled.status).toBe(0);
    return () => rm(filler);
  }

  /** Restores a Sandbox, first on a full disk. If that is refused, nothing has run, so the image can be used again. */
  async function restoreOnFull(sandbox: SavedSandbox): Promise<Pod> {
    const empty = fill(0);
    const restoring = sandbox.restore();
    await Promise.race([restoring, sleep(3000)]);
    await empty();
    const answer = await restoring;
    if (conditionOf(answer, "PodRestored")?.status === "True") return answer;
    await sandbox.remove();
    return sandbox.restore();
  }

  const numberOf = (pod: string): Promise<string> =>
    box.shell(
      pod,
      "rm /dev/shm/number; kill -USR1 1; until [ -s /dev/shm/number ]; do sleep 0.05; done; cat /dev/shm/number",
    );

  test.for([64, 4096])("a Sandbox continues when it is full after %i KiB of a snapshot", async (kibibytes) => {
    const name = `snapshot-${kibibytes}`;
    const source = await bareSandbox(box, name, { spec });
    await source.start();
    const number = await numberOf(name);
    const folder = snapshotsFolder(layoutOf(dataDir));
    await mkdir(folder, { recursive: true });
    const watcher = watch(folder);
    let empty = async (): Promise<void> => undefined;
    watcher.once("change", () => {
      empty = fill(kibibytes * 1024);
    });
    const snapshot = await takeSnapshot(box, name, name);
    watcher.close();
    await empty();
    expect(failureOf(snapshot)).toBe("QuotaExceeded");
    await box.api.until(name, isReady);
    expect(await numberOf(name)).toBe(number);
    expect((await namesIn(folder)).filter((one) => one.startsWith(snapshot.metadata.uid ?? ""))).toEqual([]);
    await box.api.client.delete(sandboxSnapshots, { namespace, name });
    // With room again, another one is taken.
    expect(failureOf(await takeSnapshot(box, `${name}-again`, name))).toBeUndefined();
    await box.remove(name);
  });

  test("a suspended Sandbox waits or reports while no byte is free, and continues later", async () => {
    const sandbox = await makeSandbox(box, "restored", spec);
    await sandbox.start();
    const number = await numberOf(sandbox.name);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    expect(answerOf(await restoreOnFull(sandbox), "PodRestored")).toBe("True");
    expect(await numberOf(sandbox.name)).toBe(number);
    await sandbox.remove();
  });

  test("a fork whose files do not fit is refused, and its snapshot stays", async () => {
    const source = await bareSandbox(box, "large", { spec });
    await source.start();
    const number = await numberOf("large");
    await box.shell("large", "head -c 30M /dev/urandom > /root/data");
    const snapshot = await takeSnapshot(box, "large", "large");
    const uid = snapshot.metadata.uid ?? "";
    const restoreFrom = { snapshotRef: { name: "large" } };
    const fork = await bareSandbox(box, "fork", { spec, restoreFrom });
    const empty = fill(10 << 20);
    const refused = await fork.restore(uid);
    await empty();
    expect(conditionOf(refused, "PodRestored")?.message).toMatch(/no space left|ENOSPC/i);
    await box.remove("fork");
    await box.api.until("large", isReady);
    const next = await bareSandbox(box, "next", { spec, restoreFrom });
    expect(answerOf(await next.restore(uid), "PodRestored")).toBe("True");
    expect(await numberOf("next")).toBe(number);
    await expect.poll(() => numberOf("large"), soon).toBe(number);
  });
});
