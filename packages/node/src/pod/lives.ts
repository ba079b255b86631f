import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import { containerId, containerPaths, podPaths } from "../layout.ts";
import { hasRunOutOfMemory } from "../system/cgroups.ts";
import { processStart } from "../system/processes.ts";
import type { Machine } from "./machine.ts";
import type { Life } from "./observed.ts";
import type { PodRecord, ProcessMark } from "./record.ts";

type LifePlace = Pick<Machine, "layout" | "cgroups">;

/** How the current runs of a Pod's containers stand: from the processes, and from what the monitors wrote down. */
export async function observeLives(machine: LifePlace, record: PodRecord): Promise<Record<string, Life>> {
  const lives: Record<string, Life> = {};
  for (const [container, { run, attempt, ended }] of Object.entries(record.containers)) {
    if (run === undefined || ended !== undefined) continue;
    // The monitor first: when it is gone, what it had to write is there.
    const alive = (await isAlive(run.monitor)) || (await isAlive(run.process));
    const exit = await readExit(machine, { uid: record.uid, container, attempt });
    lives[container] = exit === undefined ? { alive } : { alive: false, exit };
  }
  return lives;
}

async function isAlive(mark: ProcessMark): Promise<boolean> {
  return (await processStart(mark.pid)) === mark.start;
}

async function readExit(
  { layout, cgroups }: LifePlace,
  { uid, container, attempt }: { readonly uid: string; readonly container: string; readonly attempt: number },
): Promise<Life["exit"]> {
  const path = join(layout.exitsDir, containerId(uid, container, attempt));
  try {
    const [code, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const told = await exists(join(containerPaths(layout, uid, container).bundle, "oom"));
    // The monitor begins to listen a moment after the container starts, so that it misses what happens at once.
    const outOfMemory = told || (await hasRunOutOfMemory(cgroups, `${podPaths(layout, uid).cgroup}/${container}`));
    return { code: Number(code), finishedAt: Math.floor(mtimeMs), outOfMemory };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
