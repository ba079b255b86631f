import { rm } from "node:fs/promises";
import { join } from "node:path";
import { podPaths } from "../layout.ts";
import type { Machine } from "../pod/machine.ts";
import { removeCgroup } from "../system/cgroups.ts";
import { namesIn } from "../system/folders.ts";
import { readJson } from "../system/json-file.ts";
import { endSession, type OpenSession, sessionFile } from "./open-session.ts";

/** Ends the commands that an earlier process of the node left running when it was killed. */
export async function endAbandonedExecs(machine: Machine, uid: string): Promise<void> {
  const paths = podPaths(machine.layout, uid);
  for (const name of await namesIn(paths.execs)) {
    const folder = join(paths.execs, name);
    const own = (await readJson(join(folder, sessionFile)).catch(() => undefined)) as OpenSession | undefined;
    if (own?.cgroup.startsWith(`${paths.cgroup}/`) && machine.runtimes.has(own.runtime)) {
      await endSession(machine, own, folder);
      await removeCgroup(machine.cgroups, own.cgroup);
    }
    await rm(folder, { recursive: true, force: true });
  }
}
