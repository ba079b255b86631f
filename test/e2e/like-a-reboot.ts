import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pullNetns } from "../../packages/node/src/image/pull-network.ts";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { childCgroups, detectCgroups, killCgroup, removeCgroup } from "../../packages/node/src/system/cgroups.ts";
import { namesIn } from "../../packages/node/src/system/folders.ts";
import { mountsUnder, unmount } from "../../packages/node/src/system/mounts.ts";
import { tryCommand } from "../../packages/node/src/system/run-command.ts";

/** Removes what a reboot removes from a stopped box: processes, mounts, `/run`, network namespaces, interfaces and firewall rules. */
export async function loseAllButTheDisk(dataDir: string): Promise<void> {
  const layout = layoutOf(dataDir);
  const cgroups = await detectCgroups();
  for (const child of await childCgroups(cgroups, layout.cgroupParent)) {
    await killCgroup(cgroups, join(layout.cgroupParent, child));
  }
  await removeCgroup(cgroups, layout.cgroupParent);
  for (const folder of [layout.runDir, layout.dataDir]) await unmount(await mountsUnder(folder));
  await rm(layout.runDir, { recursive: true, force: true });
  await changeBoot(layout.podsDir);
  const own = (await namesIn("/run/netns")).filter((name) => name.startsWith(layout.netnsPrefix));
  for (const name of [...own, pullNetns(layout)]) await tryCommand("ip", ["netns", "del", name]);
  await tryCommand("ip", ["link", "del", layout.bridge]);
  for (const family of ["inet", "bridge"]) await tryCommand("nft", ["delete", "table", family, layout.firewallTable]);
}

/** The records of Pods say in which boot their volumes were filled. */
async function changeBoot(podsDir: string): Promise<void> {
  const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  for (const uid of await namesIn(podsDir)) {
    const path = join(podsDir, uid, "pod.json");
    const record = await readFile(path, "utf8");
    await writeFile(path, record.replaceAll(boot, "00000000-0000-4000-8000-000000000000"));
  }
}
