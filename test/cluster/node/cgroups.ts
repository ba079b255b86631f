import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cgroupName } from "./settings.ts";

const root = "/sys/fs/cgroup";

/** The mount points of all hierarchies: one for version 2, one for each controller of version 1, or both. */
function hierarchies(): string[] {
  if (existsSync(join(root, "cgroup.controllers"))) return [root];
  return readdirSync(root)
    .map((name) => join(root, name))
    .filter((path) => existsSync(join(path, "cgroup.procs")));
}

/** Creates the cluster's cgroup in every hierarchy, with one below it for the services of the node. */
export function createCgroups(): void {
  for (const hierarchy of hierarchies()) {
    const parent = join(hierarchy, cgroupName);
    for (const path of [parent, join(parent, "node")]) {
      mkdirSync(path, { recursive: true });
      inheritCpuset(path);
    }
    for (const path of [hierarchy, parent]) delegate(path);
  }
}

/** A new cpuset of version 1 is empty, and an empty one accepts no processes. */
function inheritCpuset(path: string): void {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    if (!existsSync(join(path, file)) || existsSync(join(path, "cgroup.controllers"))) continue;
    writeFileSync(join(path, file), readFileSync(join(path, "..", file)));
  }
}

/** In version 2, a parent passes on its controllers. */
function delegate(path: string): void {
  const file = join(path, "cgroup.subtree_control");
  if (!existsSync(file)) return;
  const controllers = readFileSync(join(path, "cgroup.controllers"), "utf8").trim().split(" ").filter(Boolean);
  if (controllers.length > 0) writeFileSync(file, controllers.map((name) => `+${name}`).join(" "));
}

/** Removes the cluster's cgroups, whose processes have been killed: the kernel needs a moment to remove them. */
export async function removeCgroups(): Promise<void> {
  for (const path of existingCgroups()) await removeTree(path, Date.now() + 10_000);
}

/** The cluster's cgroups that exist, one for each hierarchy. */
export function existingCgroups(): string[] {
  return hierarchies()
    .map((hierarchy) => join(hierarchy, cgroupName))
    .filter((path) => existsSync(path));
}

async function removeTree(path: string, deadline: number): Promise<void> {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeTree(join(path, entry.name), deadline);
  }
  for (;;) {
    try {
      rmdirSync(path);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`Cannot remove the cgroup "${path}"`, { cause: error });
      await sleep(50);
    }
  }
}
