import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import type { Cgroups } from "./cgroups.ts";

/** The folders of the memory and pids controllers for a cgroup. On cgroup v2 there is one for both. */
export function countingFolders(cgroups: Cgroups, path: string): string[] {
  // Some kernels have no memory controller.
  const present = (["memory", "pids"] as const).filter((one) => existsSync(cgroups.controllerFolder(one, "/")));
  return [...new Set(present.map((controller) => cgroups.controllerFolder(controller, path)))];
}

export async function makeCountingCgroup(cgroups: Cgroups, path: string): Promise<void> {
  for (const folder of countingFolders(cgroups, path)) await mkdir(folder, { recursive: true });
}

/** Moves a process into a cgroup for accounting. Ignores a process that has ended. */
export async function enterCgroup(cgroups: Cgroups, path: string, pid: number): Promise<void> {
  const enter = (folder: string): Promise<void> =>
    writeFile(join(folder, "cgroup.procs"), String(pid)).catch((error: unknown) => {
      if (!hasCode(error, "ESRCH")) throw error;
    });
  await Promise.all(countingFolders(cgroups, path).map(enter));
}

/**
 * Like `enterCgroup`, without waiting for it: the kernel synchronises all processors to move a process, which takes 10 ms or
 * more. A process that cannot be moved is accounted to the box.
 */
export function enterCgroupLater(cgroups: Cgroups, path: string, pid: number): void {
  enterCgroup(cgroups, path, pid).catch(() => undefined);
}
