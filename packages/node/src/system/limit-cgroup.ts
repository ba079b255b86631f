import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode, messageOf } from "../errors.ts";
import type { Cgroups } from "./cgroups.ts";

export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly pids: number;
}

/**
 * Creates a cgroup and limits its total usage, including the cgroups below it. Returns messages about limits that could not
 * be set, for example because the kernel refuses a limit below the current usage.
 */
export async function limitCgroup(cgroups: Cgroups, path: string, limits: CgroupLimits): Promise<string[]> {
  const problems: string[] = [];
  const attempt = async (what: string, write: () => Promise<void>): Promise<void> => {
    await write().catch((error: unknown) => problems.push(`${what} is not limited: ${messageOf(error)}`));
  };
  if (cgroups.version === 2) await attempt("memory and processes", () => delegate(cgroups, path));
  await attempt("memory", () => limitMemory(cgroups, path, limits.memoryBytes));
  await attempt("the number of processes", async () => {
    const folder = await makeFolder(cgroups, "pids", path);
    await writeFile(join(folder, "pids.max"), String(limits.pids));
  });
  return problems;
}

/** In version 2 a cgroup has the files of a controller only if its parent enables the controller for its children. */
async function delegate(cgroups: Cgroups, path: string): Promise<void> {
  const folder = await makeFolder(cgroups, "memory", path);
  for (const one of [dirname(folder), folder]) {
    const control = join(one, "cgroup.subtree_control");
    const has = (await readFile(control, "utf8")).split(/\s+/);
    const lacks = ["memory", "pids"].filter((controller) => !has.includes(controller));
    if (lacks.length > 0) await writeFile(control, lacks.map((controller) => `+${controller}`).join(" "));
  }
}

async function limitMemory(cgroups: Cgroups, path: string, bytes: number): Promise<void> {
  const folder = await makeFolder(cgroups, "memory", path);
  if (cgroups.version === 2) {
    await writeFile(join(folder, "memory.max"), String(bytes));
    await writeFile(join(folder, "memory.swap.max"), "0").catch(ignoreMissing);
    return;
  }
  // The limit of memory and swap must not be below the memory limit, so lift it while that one changes.
  if (cgroups.swapAccounting) await writeFile(join(folder, "memory.memsw.limit_in_bytes"), "-1");
  await writeFile(join(folder, "memory.limit_in_bytes"), String(bytes));
  if (cgroups.swapAccounting) await writeFile(join(folder, "memory.memsw.limit_in_bytes"), String(bytes));
}

async function makeFolder(cgroups: Cgroups, controller: "memory" | "pids", path: string): Promise<string> {
  const folder = cgroups.controllerFolder(controller, path);
  await mkdir(folder, { recursive: true });
  return folder;
}

function ignoreMissing(error: unknown): void {
  if (!hasCode(error, "ENOENT")) throw error;
}
