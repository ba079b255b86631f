import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { detectCgroups } from "../../src/system/cgroups.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { hasPhase, openTestBox, statusOf, type TestBox } from "../../src/testing/test-box.ts";

const budget = { memoryBytes: 3 * 2 ** 30, pids: 3000 };

describe.skipIf(cannotRun).each(testedRuntimes)("the budget of all sandboxes, with %s", (runtimeClassName) => {
  let box: TestBox;
  let ownBefore: number;

  beforeAll(async () => {
    ownBefore = await scoreOf(process.pid);
    box = await openTestBox({ budget });
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  const start = async (name: string, memory: string): Promise<string> => {
    const main = { name: "main", image: "host", command: ["sleep", "300"], resources: { limits: { memory } } };
    await box.create(name, { spec: { runtimeClassName, containers: [main, { ...main, name: "other" }] } });
    const { metadata } = await box.api.until(name, hasPhase("Running"));
    return metadata?.uid ?? "";
  };

  test("when the machine runs out of memory, the processes of sandboxes are killed before the box", async () => {
    const uid = await start("scores", "64Mi");
    const scores = await Promise.all((await processesOf(box, uid)).map(scoreOf));
    expect(scores.length).toBeGreaterThan(1);
    const own = await scoreOf(process.pid);
    expect(Math.min(...scores)).toBeGreaterThan(own + 500);
    expect(own).toBe(ownBefore);
  });

  test("memory limits are at most the budget", async () => {
    const uid = await start("greedy", "1000Ti");
    const cgroups = await detectCgroups();
    const { cgroupParent } = layoutOf(box.dataDir);
    const limitOf = async (path: string): Promise<number> =>
      Number(
        await readFile(
          join(
            cgroups.controllerFolder("memory", path),
            cgroups.version === 2 ? "memory.max" : "memory.limit_in_bytes",
          ),
          "utf8",
        ),
      );
    expect(await limitOf(cgroupParent)).toBe(budget.memoryBytes);
    expect(Number(await readFile(join(cgroups.controllerFolder("pids", cgroupParent), "pids.max"), "utf8"))).toBe(3000);
    const names = await readdir(cgroups.processFolder(`${cgroupParent}/${uid}`), { withFileTypes: true });
    const inside = names.filter((one) => one.isDirectory()).map(({ name }) => `${cgroupParent}/${uid}/${name}`);
    const limits = await Promise.all(inside.map(limitOf));
    // gVisor has one sandbox for the whole Pod, so only its cgroup has a limit.
    expect(runtimeClassName === "runc" ? Math.max(...limits) : Math.min(...limits)).toBe(budget.memoryBytes);
  });
});

describe.skipIf(cannotRun)("a disk with less free space than the reserve", () => {
  test("new Pods wait with a message about disk pressure", async () => {
    await using box = await openTestBox({ budget: { diskFreeBytes: Number.MAX_SAFE_INTEGER }, diskCheckMs: 20 });
    // Pods start until the first measurement of the disk.
    for (let index = 0; ; index++) {
      await box.create(`late-${index}`, {});
      const pod = await box.api.until(`late-${index}`, (one) => statusOf(one)?.state !== undefined);
      const { waiting } = statusOf(pod)?.state ?? {};
      if (!waiting?.message?.includes("DiskPressure")) continue;
      expect(pod.status?.phase).toBe("Pending");
      return;
    }
  });
});

async function processesOf(box: TestBox, uid: string): Promise<number[]> {
  const cgroups = await detectCgroups();
  const folder = cgroups.processFolder(`${layoutOf(box.dataDir).cgroupParent}/${uid}`);
  const files = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith("cgroup.procs"));
  const lists = await Promise.all(files.map((path) => readFile(join(folder, path), "utf8")));
  return lists.flatMap((list) => list.split("\n").filter(Boolean).map(Number));
}

async function scoreOf(pid: number): Promise<number> {
  return Number(await readFile(`/proc/${pid}/oom_score_adj`, "utf8"));
}
