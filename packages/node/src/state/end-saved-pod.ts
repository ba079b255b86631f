import type { Pod } from "@agent-sandbox/api";
import { parseContainerId, podPaths } from "../layout.ts";
import type { Effects } from "../pod/effects.ts";
import type { Machine } from "../pod/machine.ts";
import type { PodRecord } from "../pod/record.ts";
import { killCgroup, removeCgroup, signalCgroup } from "../system/cgroups.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { endsSoon } from "../system/processes.ts";
import { settleAll } from "../system/settle-all.ts";
import { moveVolumesOut } from "./empty-dirs.ts";
import { readUse } from "./image-meta.ts";

/**
 * Kills the processes of a Pod whose image is complete, and moves its files that would be removed with it into the image. Does not
 * wait for the processes: they were paused, and never run again. `releaseSavedPod` waits for them.
 */
export async function endSavedPod({ machine, endSessions }: Effects, pod: Pod, record: PodRecord): Promise<void> {
  const { save } = record;
  if (save?.step !== "saved") return;
  endSessions(record.uid, "the Pod was suspended");
  const { suspensions, layout, cgroups } = machine;
  const key = { sandboxUid: record.keptFor ?? "", epoch: save.epoch };
  const image = suspensions.folderOf(key);
  // Without the key: a node that was started again without it ends the Pod all the same.
  const isComplete = (await readUse(image)) !== undefined;
  const end = async (): Promise<void> => {
    await signalCgroup(cgroups, podPaths(layout, record.uid).cgroup);
    if (isComplete) await moveVolumesOut(layout, pod, image);
  };
  await settleAll([end(), ...(isComplete ? [suspensions.settle(key)] : [])]);
  await machine.records.write({ ...record, save: { ...save, step: "ended" } });
}

/**
 * Waits for the end of the processes and removes network, mounts and control groups, with fewer starts of programs than the general
 * teardown that follows it. Can be repeated.
 */
export async function releaseSavedPod(machine: Machine, record: PodRecord): Promise<void> {
  const { layout, network, cgroups } = machine;
  const { netns, dir, cgroup } = podPaths(layout, record.uid);
  const end = async (): Promise<void> => {
    await killCgroup(cgroups, cgroup);
    await settleAll([forgetContainers(machine, record), mountsUnder(dir).then(unmount)]);
  };
  await settleAll([end(), network.detach(netns, record.address)]);
}

/** Removes what is left of containers whose processes have ended. */
async function forgetContainers({ layout, cgroups, runtimes }: Machine, record: PodRecord): Promise<void> {
  for (const runtime of runtimes.values()) {
    const own = (await runtime.list()).filter((id) => parseContainerId(id)?.uid === record.uid);
    for (const id of own) await (runtime.discard?.(id) ?? runtime.remove(id));
  }
  for (const { run } of Object.values(record.containers))
    if (run !== undefined) await endsSoon(run.monitor.pid, run.monitor.start);
  await removeCgroup(cgroups, podPaths(layout, record.uid).cgroup);
}
