import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Layout, layoutOf } from "../layout.ts";
import { detectCgroups } from "../system/cgroups.ts";
import { namesIn } from "../system/folders.ts";
import { mountsUnder } from "../system/mounts.ts";
import { processStart } from "../system/processes.ts";
import { runCommand } from "../system/run-command.ts";

/** Everything on this machine that belongs to the Pods of a data folder. */
export interface Traces {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly namespaces: readonly string[];
  readonly interfaces: readonly string[];
  readonly cgroups: readonly string[];
  readonly files: readonly string[];
}

export const noTraces: Traces = { processes: [], mounts: [], namespaces: [], interfaces: [], cgroups: [], files: [] };

export async function findTraces(dataDir: string): Promise<Traces> {
  const layout = layoutOf(dataDir);
  const cgroups = await detectCgroups();
  const inPods = await Promise.all(cgroups.folders(layout.cgroupParent).map(namesIn));
  const files = await Promise.all([layout.podsDir, layout.exitsDir].map(namesIn));
  return {
    processes: await processesOf(layout),
    mounts: (await Promise.all([layout.dataDir, join(layout.runDir, "pods")].map(mountsUnder))).flat(),
    namespaces: (await namesIn("/run/netns")).filter((name) => name.startsWith(layout.netnsPrefix)),
    interfaces: (await namesIn("/sys/class/net")).filter((name) => name.startsWith(layout.vethPrefix)),
    // Cgroups of Pods are named by UIDs. Files of the kernel have a dot or an underscore in their names.
    cgroups: [...new Set(inPods.flat())].filter((name) => /^[0-9a-f-]{36}$/.test(name)),
    files: files.flat(),
  };
}

/** What a node creates for all its Pods: folders, the bridge, cgroups and firewall tables. */
export async function findShared(dataDir: string): Promise<string[]> {
  const layout = layoutOf(dataDir);
  const cgroups = await detectCgroups();
  const folders = [
    layout.dataDir,
    layout.runDir,
    `/sys/class/net/${layout.bridge}`,
    ...cgroups.folders(layout.cgroupParent),
  ];
  const tables = await runCommand("nft", ["list", "tables"]);
  const found = tables.split("\n").filter((table) => table.endsWith(layout.firewallTable));
  return [...folders.filter((folder) => existsSync(folder)), ...found];
}

/** Processes in the Pods' cgroups or with one of their folders on the command line. Zombies do not count. */
async function processesOf(layout: Layout): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await namesIn("/proc")).filter((name) => /^\d+$/.test(name))) {
    if ((await processStart(Number(pid))) === undefined) continue;
    const [cgroup, command] = await Promise.all(
      ["cgroup", "cmdline"].map((file) => readFile(join("/proc", pid, file), "utf8").catch(() => "")),
    );
    const marked =
      cgroup?.includes(`${layout.cgroupParent}/`) ||
      command?.includes(layout.podsDir) ||
      command?.includes(`--root=${layout.runDir}`);
    if (marked) found.push(`${pid} ${command?.replaceAll("\0", " ").trim()}`);
  }
  return found;
}
