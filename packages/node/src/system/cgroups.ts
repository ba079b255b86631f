import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, NodeError } from "../errors.ts";
import { signalProcess } from "./processes.ts";

/**
 * The two layouts of control groups. Version 2 is one tree; version 1 has a tree per controller, where we use the one
 * of `pids` to count processes. A machine with both mounted ("hybrid") counts as version 1: the controllers are there.
 */
export interface Cgroups {
  readonly version: 1 | 2;
  /** Whether a limit on swap can be set. */
  readonly swapAccounting: boolean;
  /** Every tree's folder that stands for a cgroup path. */
  folders(path: string): readonly string[];
  /** The folder in which a controller keeps its files on a cgroup. */
  controllerFolder(controller: "cpuacct" | "memory" | "pids", path: string): string;
  /** The folder whose `cgroup.procs` tells the processes of a cgroup. */
  processFolder(path: string): string;
  /** How the runtime's command line names a cgroup below a container's. */
  execArgument(name: string): string;
}

/** Looks at what is mounted. `root` is another place in tests only. */
export async function detectCgroups(root: string = "/sys/fs/cgroup"): Promise<Cgroups> {
  if (existsSync(join(root, "cgroup.controllers"))) {
    return {
      version: 2,
      swapAccounting: true,
      folders: (path) => [join(root, path)],
      controllerFolder: (_controller, path) => join(root, path),
      processFolder: (path) => join(root, path),
      execArgument: (name) => name,
    };
  }
  const trees = (await readdir(root, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name));
  if (!existsSync(join(root, "pids"))) {
    throw new NodeError(
      "NodeSetup",
      `Cannot use control groups at "${root}": neither version 2 nor the version 1 "pids" controller is mounted`,
    );
  }
  return {
    version: 1,
    swapAccounting: existsSync(join(root, "memory/memory.memsw.limit_in_bytes")),
    folders: (path) => trees.map((tree) => join(tree, path)),
    controllerFolder: (controller, path) => join(root, controller, path),
    processFolder: (path) => join(root, "pids", path),
    execArgument: (name) => `pids:${name}`,
  };
}

/** Whether the kernel has killed a process of a cgroup for want of memory. False when the cgroup is gone. */
export async function hasRunOutOfMemory(cgroups: Cgroups, path: string): Promise<boolean> {
  const file = cgroups.version === 2 ? "memory.events" : "memory.oom_control";
  const counts = await readFile(join(cgroups.controllerFolder("memory", path), file), "utf8").catch(ignoreGone);
  return /^oom_kill [1-9]/m.test(counts ?? "");
}

export async function makeCgroup(cgroups: Cgroups, path: string): Promise<void> {
  await mkdir(cgroups.processFolder(path), { recursive: true });
}

/** Kills everything in a cgroup and below it. It can hold no new processes afterwards: it is to be removed. */
export async function killCgroup(cgroups: Cgroups, path: string): Promise<void> {
  const folder = cgroups.processFolder(path);
  // Else what forks faster than we can look would never end.
  const limit = join(folder, "pids.max");
  if (existsSync(limit)) await writeFile(limit, "0").catch(ignoreGone);
  const killSwitch = join(folder, "cgroup.kill");
  if (existsSync(killSwitch)) await writeFile(killSwitch, "1").catch(ignoreGone);
  for (let round = 0; round < 100; round++) {
    const pids = await processesIn(folder);
    if (pids.length === 0) return;
    for (const pid of pids) signalProcess(pid, "SIGKILL");
    await sleep(5);
  }
  throw new NodeError("NodeSetup", `Cannot empty control group "${folder}": its processes do not die`);
}

/** The kernel lets go of a cgroup a moment after its last process has ended. */
const removalRounds = 100;

/** Removes a cgroup, and those below it, from every tree. Fails when processes are still in it after some rounds. */
export async function removeCgroup(cgroups: Cgroups, path: string, rounds: number = removalRounds): Promise<void> {
  await Promise.all(cgroups.folders(path).map((folder) => removeFolder(folder, rounds)));
}

export async function childCgroups(cgroups: Cgroups, path: string): Promise<string[]> {
  const names = await Promise.all(cgroups.folders(path).map(childFolders));
  return [...new Set(names.flat())];
}

async function removeFolder(folder: string, rounds: number): Promise<void> {
  for (const name of await childFolders(folder)) await removeFolder(join(folder, name), rounds);
  for (let round = 0; ; round++) {
    try {
      await rmdir(folder);
      return;
    } catch (error) {
      if (hasCode(error, "ENOENT")) return;
      if (!hasCode(error, "EBUSY") || round >= rounds) throw error;
      await sleep(5);
    }
  }
}

async function processesIn(folder: string): Promise<number[]> {
  const nested = (await childFolders(folder)).map((name) => processesIn(join(folder, name)));
  const own = await readFile(join(folder, "cgroup.procs"), "utf8").catch(ignoreGone);
  const pids = (own ?? "").split("\n").filter(Boolean).map(Number);
  return [...pids, ...(await Promise.all(nested)).flat()];
}

async function childFolders(folder: string): Promise<string[]> {
  const found = await readdir(folder, { withFileTypes: true }).catch(ignoreGone);
  return (found ?? []).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

function ignoreGone(error: unknown): undefined {
  if (!hasCode(error, "ENOENT", "ENODEV")) throw error;
}
