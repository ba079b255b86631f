import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.ts";
import { containerId, containerPaths, podPaths } from "../layout.ts";
import { hasRunOutOfMemory } from "../system/cgroups.ts";
import { processStart } from "../system/processes.ts";
import type { Machine } from "./machine.ts";
import type { RunState } from "./observed.ts";
import type { PodRecord, ProcessMark } from "./record.ts";

type RunPlace = Pick<Machine, "layout" | "cgroups">;

/** The state of the current run of each container: from its processes, and from the exit file of its monitor. */
export async function observeRuns(machine: RunPlace, record: PodRecord): Promise<Record<string, RunState>> {
  const runs: Record<string, RunState> = {};
  for (const [container, { run, attempt, ended }] of Object.entries(record.containers)) {
    if (run === undefined || ended !== undefined) continue;
    // Check the monitor before reading the exit file: once the monitor has ended, the file is complete.
    const alive = (await isAlive(run.monitor)) || (await isAlive(run.process));
    const exit = await readExit(machine, { uid: record.uid, container, attempt });
    runs[container] = exit === undefined ? { alive } : { alive: false, exit };
  }
  return runs;
}

async function isAlive(mark: ProcessMark): Promise<boolean> {
  return (await processStart(mark.pid)) === mark.start;
}

async function readExit(
  { layout, cgroups }: RunPlace,
  { uid, container, attempt }: { readonly uid: string; readonly container: string; readonly attempt: number },
): Promise<RunState["exit"]> {
  const path = join(layout.exitsDir, containerId(uid, container, attempt));
  try {
    const [code, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const reported = await exists(join(containerPaths(layout, uid, container).bundle, "oom"));
    // conmon watches for OOM kills only from a moment after the start, so read the cgroup's counter as well.
    const outOfMemory = reported || (await hasRunOutOfMemory(cgroups, `${podPaths(layout, uid).cgroup}/${container}`));
    return { code: Number(code), finishedAt: Math.floor(mtimeMs), outOfMemory };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
