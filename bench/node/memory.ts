/** The memory of an idle container. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { detectCgroups } from "../../packages/node/src/system/cgroups.ts";

export interface Footprint {
  readonly processes: number;
  /** Proportional set size (PSS): shared pages count in part. */
  readonly pssMib: number;
}

/** The memory of all processes in a control group and its children. */
export async function footprintOfCgroup(path: string): Promise<Footprint> {
  const cgroups = await detectCgroups();
  return footprintOf(processesIn(cgroups.processFolder(path)));
}

/** The memory of the monitors of a Pod's containers. */
export function footprintOfMonitors(uid: string): Footprint {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isMonitor(Number(name), uid));
  return footprintOf(pids.map(Number));
}

function footprintOf(pids: readonly number[]): Footprint {
  const sizes = pids.map(pssMib);
  return { processes: sizes.length, pssMib: sizes.reduce((sum, size) => sum + size, 0) };
}

function isMonitor(pid: number, uid: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words[0]?.endsWith("conmon") === true && words.some((word) => word.startsWith(`--cid=${uid}_`));
  } catch {
    return false;
  }
}

function pssMib(pid: number): number {
  const kib = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

export function processesIn(folder: string): number[] {
  const own = readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...own, ...below.flatMap(({ name }) => processesIn(join(folder, name)))];
}
