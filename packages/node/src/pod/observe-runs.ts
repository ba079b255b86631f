import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
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
  // Most often there is none, and this thread sees that sooner than another one could.
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const code = Number(readFileSync(path, "utf8"));
  const reported = existsSync(join(containerPaths(layout, uid, container).bundle, "oom"));
  // conmon watches for OOM kills only from a moment after the start, so read the cgroup's counter as well.
  const outOfMemory = reported || (await hasRunOutOfMemory(cgroups, `${podPaths(layout, uid).cgroup}/${container}`));
  return { code, finishedAt: Math.floor(found.mtimeMs), outOfMemory };
}
