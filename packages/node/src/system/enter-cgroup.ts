import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import type { Cgroups } from "./cgroups.ts";

/** The folders in which a process has to be entered so that its memory and its threads count for a cgroup. */
export function countingFolders(cgroups: Cgroups, path: string): string[] {
  // A kernel may have no controller for memory.
  const present = (["memory", "pids"] as const).filter((one) => existsSync(cgroups.controllerFolder(one, "/")));
  return [...new Set(present.map((controller) => cgroups.controllerFolder(controller, path)))];
}

export async function makeCountingCgroup(cgroups: Cgroups, path: string): Promise<void> {
  for (const folder of countingFolders(cgroups, path)) await mkdir(folder, { recursive: true });
}

/** Counts what a process uses from now on for a cgroup. A process that has ended is no error. */
export async function enterCgroup(cgroups: Cgroups, path: string, pid: number): Promise<void> {
  const enter = (folder: string): Promise<void> =>
    writeFile(join(folder, "cgroup.procs"), String(pid)).catch((error: unknown) => {
      if (!hasCode(error, "ESRCH")) throw error;
    });
  await Promise.all(countingFolders(cgroups, path).map(enter));
}
