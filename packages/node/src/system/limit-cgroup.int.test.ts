import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Cgroups, detectCgroups, killCgroup, removeCgroup } from "./cgroups.ts";
import { limitCgroup } from "./limit-cgroup.ts";

const reason = process.getuid?.() === 0 ? undefined : "it needs root";
if (reason !== undefined) console.warn(`skipped: ${reason}`);

/** Runs a shell in a cgroup below the limited one, and returns how it ended. */
async function runBelow(cgroups: Cgroups, path: string, script: string): Promise<string> {
  const folders = (["memory", "pids"] as const).map((controller) => cgroups.controllerFolder(controller, path));
  for (const folder of folders) await mkdir(folder, { recursive: true });
  const enter = folders.map((folder) => `echo $$ > ${folder}/cgroup.procs`).join("; ");
  const child = spawn("sh", ["-c", `${enter}; ${script}`], { stdio: "ignore" });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  return signal ?? `exit ${code}`;
}

describe.skipIf(reason !== undefined)("limits of a cgroup and those below it", () => {
  const parent = `/limit-int-${process.pid}`;
  const limits = { memoryBytes: 64 * 2 ** 20, pids: 20 };

  test("memory and processes stay below the limits of the parent", async () => {
    const cgroups = await detectCgroups();
    try {
      expect(await limitCgroup(cgroups, parent, limits)).toEqual([]);
      const eats = "head -c 200m /dev/zero | tail -c 200m > /dev/null; exit $?";
      expect(await runBelow(cgroups, `${parent}/pod`, eats)).not.toBe("exit 0");
      const forks = "i=0; while [ $i -lt 40 ]; do sleep 30 & i=$((i+1)); done";
      expect(await runBelow(cgroups, `${parent}/pod`, forks)).not.toBe("exit 0");
    } finally {
      await killCgroup(cgroups, parent);
      await removeCgroup(cgroups, parent);
    }
  });

  test("limits can be raised and lowered", async () => {
    const cgroups = await detectCgroups();
    try {
      for (const memoryBytes of [2 ** 26, 2 ** 28, 2 ** 27]) {
        expect(await limitCgroup(cgroups, parent, { memoryBytes, pids: 7 })).toEqual([]);
        const file = cgroups.version === 2 ? "memory.max" : "memory.limit_in_bytes";
        const found = await readFile(join(cgroups.controllerFolder("memory", parent), file), "utf8");
        expect(Number(found)).toBe(memoryBytes);
      }
    } finally {
      await removeCgroup(cgroups, parent);
    }
  });

  test("on version 2 the controllers are enabled for the Pods", async () => {
    const root = await mkdtemp(join(tmpdir(), "limit-cgroup-"));
    try {
      const folder = join(root, "boxes");
      await mkdir(folder);
      await writeFile(join(root, "cgroup.controllers"), "cpu memory pids\n");
      for (const one of [root, folder]) await writeFile(join(one, "cgroup.subtree_control"), "cpu\n");
      expect(await limitCgroup(await detectCgroups(root), "/boxes", limits)).toEqual([]);
      const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");
      expect(await read("cgroup.subtree_control")).toBe("+memory +pids");
      expect(await read("boxes/cgroup.subtree_control")).toBe("+memory +pids");
      expect(await read("boxes/memory.max")).toBe(String(limits.memoryBytes));
      expect(await read("boxes/pids.max")).toBe("20");
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});
