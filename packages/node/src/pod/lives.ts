import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import { containerId, containerPaths, type Layout } from "../layout.ts";
import { processStart } from "../system/processes.ts";
import type { Life } from "./observed.ts";
import type { PodRecord, ProcessMark } from "./record.ts";

/** How the current runs of a Pod's containers stand: from the processes, and from what the monitors wrote down. */
export async function observeLives(layout: Layout, record: PodRecord): Promise<Record<string, Life>> {
  const lives: Record<string, Life> = {};
  for (const [container, { run, attempt, ended }] of Object.entries(record.containers)) {
    if (run === undefined || ended !== undefined) continue;
    // The monitor first: when it is gone, what it had to write is there.
    const alive = (await isAlive(run.monitor)) || (await isAlive(run.process));
    const exit = await readExit(layout, record.uid, container, attempt);
    lives[container] = exit === undefined ? { alive } : { alive: false, exit };
  }
  return lives;
}

async function isAlive(mark: ProcessMark): Promise<boolean> {
  return (await processStart(mark.pid)) === mark.start;
}

async function readExit(layout: Layout, uid: string, container: string, attempt: number): Promise<Life["exit"]> {
  const path = join(layout.exitsDir, containerId(uid, container, attempt));
  try {
    const [code, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const outOfMemory = await exists(join(containerPaths(layout, uid, container).bundle, "oom"));
    return { code: Number(code), finishedAt: Math.floor(mtimeMs), outOfMemory };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
