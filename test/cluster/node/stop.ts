import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { existingCgroups, removeCgroups } from "./cgroups.ts";
import { killNode } from "./node-process.ts";
import { run } from "./run.ts";
import { folder, hostLink } from "./settings.ts";

/** Ends the cluster and removes all that it created: processes, mounts, links, cgroups and files. Safe to repeat. */
export async function stopCluster(): Promise<void> {
  await killNode();
  await killLeftovers();
  await removeCgroups();
  // The kernel removes the link together with the node's network namespace, a moment after the last process.
  if (existsSync(`/sys/class/net/${hostLink}`)) await run("ip", ["link", "delete", hostLink]).catch(linkGone);
  rmSync(folder, { recursive: true, force: true });
}

/** Members of the cluster's cgroups that are still ending, or that survived a first process killed before it was recorded. */
async function killLeftovers(): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const pids = await members();
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
    if (Date.now() > deadline) throw new Error(`Cannot end the processes ${pids.join(", ")} of the test cluster`);
    await sleep(50);
  }
}

async function members(): Promise<number[]> {
  const cgroups = existingCgroups();
  if (cgroups.length === 0) return [];
  const files = (await run("find", [...cgroups, "-name", "cgroup.procs"])).split("\n").filter(Boolean);
  return [...new Set(files.flatMap(pidsIn))].filter((pid) => !isZombie(pid));
}

function pidsIn(file: string): number[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function isZombie(pid: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function linkGone(error: unknown): void {
  if (existsSync(`/sys/class/net/${hostLink}`)) throw error;
}
