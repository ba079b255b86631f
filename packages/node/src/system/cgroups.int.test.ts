import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { childCgroups, detectCgroups, killCgroup, makeCgroup, removeCgroup } from "./cgroups.ts";

/** Where the kernel has the two layouts; a machine may have one or both. */
const roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].filter(
  (root) => existsSync(join(root, "cgroup.controllers")) || existsSync(join(root, "pids")),
);
const reason = process.getuid?.() === 0 && roots.length > 0 ? undefined : "it needs root and control groups";
if (reason !== undefined) console.warn(`skipped: ${reason}`);

describe.skipIf(reason !== undefined)("real control groups", () => {
  test.for(roots)("in %s: killing and removing a cgroup includes those below it", async (root) => {
    const cgroups = await detectCgroups(root);
    const parent = `/cgroups-int-${process.pid}`;
    const inner = `${parent}/pod/exec-1`;
    await makeCgroup(cgroups, inner);
    const children = [spawn("sleep", ["300"]), spawn("sleep", ["300"])];
    const ends = children.map((child) => once(child, "exit"));
    for (const [index, path] of [`${parent}/pod`, inner].entries()) {
      await writeFile(join(cgroups.processFolder(path), "cgroup.procs"), String(children[index]?.pid));
    }
    expect(await childCgroups(cgroups, parent)).toEqual(["pod"]);
    await expect(removeCgroup(cgroups, parent, 0)).rejects.toMatchObject({ code: "EBUSY" });
    await killCgroup(cgroups, parent);
    expect((await Promise.all(ends)).map(([, signal]) => signal as unknown)).toEqual(["SIGKILL", "SIGKILL"]);
    await removeCgroup(cgroups, parent);
    expect(cgroups.folders(parent).filter((folder) => existsSync(folder))).toEqual([]);
  });

  test.for(roots)("in %s: killing or removing a missing cgroup is not an error", async (root) => {
    const cgroups = await detectCgroups(root);
    await killCgroup(cgroups, "/no-such-group");
    await removeCgroup(cgroups, "/no-such-group");
    expect(await childCgroups(cgroups, "/no-such-group")).toEqual([]);
  });
});
