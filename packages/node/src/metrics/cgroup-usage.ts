import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cgroups } from "../system/cgroups.ts";

/** The usage of a cgroup and those below it. */
export interface CgroupUsage {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** Memory that cannot be reclaimed at once: all but the inactive page cache. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly processes: number;
}

/** The usage of a cgroup; undefined if it does not exist. */
export async function cgroupUsage(cgroups: Cgroups, path: string): Promise<CgroupUsage | undefined> {
  try {
    return cgroups.version === 2 ? await second(cgroups, path) : await first(cgroups, path);
  } catch {
    return undefined;
  }
}

async function first(cgroups: Cgroups, path: string): Promise<CgroupUsage> {
  const [cpuNanoseconds, used, stat, processes] = await Promise.all([
    read(join(cgroups.controllerFolder("cpuacct", path), "cpuacct.usage")),
    read(join(cgroups.controllerFolder("memory", path), "memory.usage_in_bytes")),
    read(join(cgroups.controllerFolder("memory", path), "memory.stat")),
    read(join(cgroups.controllerFolder("pids", path), "pids.current")),
  ]);
  const fields = fieldsOf(stat);
  return {
    cpuSeconds: Number(cpuNanoseconds) / 1e9,
    ...memory(Number(used), fields("total_inactive_file")),
    rssBytes: fields("total_rss"),
    cacheBytes: fields("total_cache"),
    processes: Number(processes),
  };
}

async function second(cgroups: Cgroups, path: string): Promise<CgroupUsage> {
  const folder = cgroups.controllerFolder("memory", path);
  const [cpu, used, stat, processes] = await Promise.all(
    ["cpu.stat", "memory.current", "memory.stat", "pids.current"].map((name) => read(join(folder, name))),
  );
  const fields = fieldsOf(stat ?? "");
  return {
    cpuSeconds: fieldsOf(cpu ?? "")("usage_usec") / 1e6,
    ...memory(Number(used), fields("inactive_file")),
    rssBytes: fields("anon"),
    cacheBytes: fields("file"),
    processes: Number(processes),
  };
}

function memory(usedBytes: number, inactiveBytes: number): Pick<CgroupUsage, "memoryBytes" | "workingSetBytes"> {
  return { memoryBytes: usedBytes, workingSetBytes: Math.max(0, usedBytes - inactiveBytes) };
}

async function read(path: string): Promise<string> {
  return (await readFile(path, "utf8")).trim();
}

/** Parses lines of a name and a number. */
function fieldsOf(text: string): (name: string) => number {
  const all = new Map(text.split("\n").map((line) => line.split(" ") as [string, string]));
  return (name) => Number(all.get(name) ?? 0);
}
