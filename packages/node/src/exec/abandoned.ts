import { join } from "node:path";
import { podPaths } from "../layout.ts";
import type { Machine } from "../pod/machine.ts";
import { killCgroup, removeCgroup } from "../system/cgroups.ts";
import { namesIn } from "../system/folders.ts";
import { readJson, removeFile } from "../system/json-file.ts";

/** Ends the commands that were running when the node's last process was killed. */
export async function endAbandonedExecs(machine: Machine, uid: string): Promise<void> {
  const paths = podPaths(machine.layout, uid);
  for (const name of await namesIn(paths.execs)) {
    const file = join(paths.execs, name);
    const saved = name.endsWith(".pid") ? undefined : await readJson(file).catch(() => undefined);
    const cgroup = (saved as { cgroup?: string } | undefined)?.cgroup;
    if (cgroup?.startsWith(`${paths.cgroup}/`)) {
      await killCgroup(machine.cgroups, cgroup);
      await removeCgroup(machine.cgroups, cgroup);
    }
    await removeFile(file);
  }
}
