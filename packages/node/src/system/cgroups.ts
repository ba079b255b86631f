import { existsSync, mkdirSync } from "node:fs";
import { readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, NodeError } from "../errors.ts";
import { signalProcess } from "./processes.ts";

/**
 * The two layouts of control groups. Version 2 is one tree. Version 1 has a tree per controller; the `pids` tree is used to
 * list processes. A "hybrid" machine with both mounted counts as version 1, because the controllers are there.
 */
export interface Cgroups {
  readonly version: 1 | 2;
  /** Whether swap can be limited. */
  readonly swapAccounting: boolean;
  /** The folder of a cgroup in every tree. */
  folders(path: string): readonly string[];
  /** The folder of a cgroup in the tree of a controller. */
  controllerFolder(controller: "cpuacct" | "memory" | "pids", path: string): string;
  /** The folder whose `cgroup.procs` lists the processes of a cgroup. */
  processFolder(path: string): string;
  /** The runtime's command-line argument for a cgroup below the container's. */
  execArgument(name: string): string;
}

/** Detects the layout. `root` is for tests. */
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

/** Whether the kernel has OOM-killed a process of a cgroup. False when the cgroup does not exist. */
export async function hasRunOutOfMemory(cgroups: Cgroups, path: string): Promise<boolean> {
  const file = cgroups.version === 2 ? "memory.events" : "memory.oom_control";
  const counts = await readFile(join(cgroups.controllerFolder("memory", path), file), "utf8").catch(ignoreGone);
  return /^oom_kill [1-9]/m.test(counts ?? "");
}

export async function makeCgroup(cgroups: Cgroups, path: string): Promise<void> {
  mkdirSync(cgroups.processFolder(path), { recursive: true });
}

/** Kills all processes in a cgroup and below it, and waits until they have ended. The cgroup accepts no new processes afterwards. */
export async function killCgroup(cgroups: Cgroups, path: string): Promise<void> {
  for (let round = 0; round < 100; round++) {
    if ((await signalCgroup(cgroups, path)) === 0) return;
    await sleep(5);
  }
  throw new NodeError("NodeSetup", `Cannot empty control group "${path}": its processes do not end`);
}

/** Sends SIGKILL to all processes in a cgroup and below it, and returns how many there are. It accepts no new ones afterwards. */
export async function signalCgroup(cgroups: Cgroups, path: string): Promise<number> {
  const folder = cgroups.processFolder(path);
  // Otherwise a fork bomb could outrun the kills.
  const limit = join(folder, "pids.max");
  if (existsSync(limit)) await writeFile(limit, "0").catch(ignoreGone);
  const killSwitch = join(folder, "cgroup.kill");
  if (existsSync(killSwitch)) await writeFile(killSwitch, "1").catch(ignoreGone);
  const pids = await processesIn(folder);
  for (const pid of pids) signalProcess(pid, "SIGKILL");
  return pids.length;
}

/** A cgroup stays busy for a moment after its last process has ended. */
const removalRounds = 100;

/** Removes a cgroup and those below it from every tree. Throws when it still has processes after several rounds. */
export async function removeCgroup(cgroups: Cgroups, path: string, rounds: number = removalRounds): Promise<void> {
  await Promise.all(cgroups.folders(path).map((folder) => removeFolder(folder, rounds)));
}

export async function childCgroups(cgroups: Cgroups, path: string): Promise<string[]> {
  const names = await Promise.all(cgroups.folders(path).map(childFolders));
  return [...new Set(names.flat())];
}

async function removeFolder(folder: string, rounds: number): Promise<void> {
  // In version 1 most trees do not have it.
  if (!existsSync(folder)) return;
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
