import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";
import { parseContainerId, podPaths } from "../layout.ts";
import type { Effects } from "../pod/effects.ts";
import type { Machine } from "../pod/machine.ts";
import type { PodRecord } from "../pod/record.ts";
import { killCgroup, removeCgroup, signalCgroup } from "../system/cgroups.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { endsSoon } from "../system/processes.ts";
import { settleAll } from "../system/settle-all.ts";
import { hasVolumesToMove, moveVolumesOut } from "./empty-dirs.ts";
import { readUse } from "./image-meta.ts";

/** The controller deletes a Pod some milliseconds after it was reported as saved. */
const deletedWithinMs = 100;
/** After that it writes the status of the Sandbox, which the end of the processes and the programs that remove a link would hold up. */
const reportedWithinMs = 5;

/**
 * Records that the image of a Pod is complete and synced: from here on the Pod does not continue. Moves its files that would be removed
 * with it into the image. Can be repeated. Its processes, which were paused, stay for the moment (`killSavedPod`).
 */
export async function endSavedPod(
  { machine, endSessions }: Effects,
  pod: Pod,
  { record, ...saved }: { readonly record: PodRecord; readonly epoch: number; readonly sizeBytes: number },
): Promise<void> {
  const { suspensions, records, layout } = machine;
  endSessions(record.uid, "the Pod was suspended");
  if (hasVolumesToMove(pod)) {
    await records.write({ ...record, save: { step: "saved", ...saved } });
    const image = suspensions.folderOf({ sandboxUid: record.keptFor ?? "", epoch: saved.epoch });
    // Without the key: a node that was started again without it ends the Pod all the same.
    if ((await readUse(image)) !== undefined) await moveVolumesOut(layout, pod, image);
  }
  await records.write({ ...record, save: { step: "ended", ...saved } });
}

/**
 * Kills the processes of an ended Pod, if the controller does not delete the Pod soon, and does not wait for their end. Can be repeated.
 */
export async function killSavedPod(
  { cgroups, layout }: Machine,
  { uid }: PodRecord,
  signal: AbortSignal,
): Promise<void> {
  await sleep(deletedWithinMs, undefined, { signal });
  await signalCgroup(cgroups, podPaths(layout, uid).cgroup);
}

/**
 * Ends the processes and removes network, mounts and control groups, with fewer starts of programs than the general teardown that
 * follows it. Can be repeated.
 */
export async function releaseSavedPod(machine: Machine, record: PodRecord): Promise<void> {
  await sleep(reportedWithinMs);
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
