import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { endAbandonedExecs } from "./exec/abandoned.ts";
import { containerId, helperGroup, parseContainerId, podPaths } from "./layout.ts";
import type { Machine } from "./pod/machine.ts";
import type { PodRecord } from "./pod/record.ts";
import { findMonitors } from "./runtime/monitor.ts";
import { trialPrefix } from "./runtime/probe.ts";
import { childCgroups, killCgroup, removeCgroup } from "./system/cgroups.ts";
import { namesIn } from "./system/folders.ts";
import { mountsUnder, unmount } from "./system/mounts.ts";
import { signalProcess } from "./system/processes.ts";

/**
 * Removes everything with this node's names that does not belong to a recorded Pod: leftovers of a crash. Pods with a record
 * are handled by the controller. Must run before anything is started.
 */
export async function sweep(machine: Machine): Promise<void> {
  const records = await machine.records.list();
  const known = new Map(
    [...records].flatMap(([uid, record]) => (record === undefined ? [] : [[uid, record] as const])),
  );
  // Cgroups first: a runtime cannot remove a container's cgroup that contains the cgroup of an exec.
  await sweepCgroups(machine, known);
  await sweepContainers(machine, known);
  await sweepNetwork(machine, known);
  for (const [uid, record] of records) {
    if (record === undefined) {
      await unmount(await mountsUnder(podPaths(machine.layout, uid).dir));
      await machine.records.remove(uid);
    } else await endAbandonedExecs(machine, uid);
  }
  const running = await namesIn(join(machine.layout.runDir, "pods"));
  for (const uid of running) if (!known.has(uid)) await machine.users.remove(uid);
  await sweepExits(machine, known);
  await sweepTrials(machine);
}

type Known = ReadonlyMap<string, PodRecord>;

async function sweepContainers(machine: Machine, known: Known): Promise<void> {
  const wanted = new Set(
    [...known.values()].flatMap(({ uid, containers }) =>
      Object.entries(containers).map(([name, { attempt }]) => containerId(uid, name, attempt)),
    ),
  );
  for (const runtime of machine.runtimes.values()) {
    for (const id of await runtime.list()) if (!wanted.has(id)) await runtime.remove(id);
  }
  // A monitor without a container has nothing left to write.
  for (const { pid, id } of await findMonitors(machine.layout.exitsDir)) {
    if (!wanted.has(id)) signalProcess(pid, "SIGKILL");
  }
}

async function sweepCgroups({ cgroups, layout }: Machine, known: Known): Promise<void> {
  for (const uid of await childCgroups(cgroups, layout.cgroupParent)) {
    if (known.has(uid) || uid === helperGroup) continue;
    await killCgroup(cgroups, `${layout.cgroupParent}/${uid}`);
    await removeCgroup(cgroups, `${layout.cgroupParent}/${uid}`);
  }
}

async function sweepNetwork({ network, layout }: Machine, known: Known): Promise<void> {
  const holders = [...known.values()].filter(({ released }) => !released);
  const namespaces = new Set(holders.map(({ uid }) => podPaths(layout, uid).netns));
  const interfaces = new Set(holders.map(({ address }) => network.interfaceOf(address)));
  const found = await network.found();
  for (const name of found.interfaces) if (!interfaces.has(name)) await network.removeInterface(name);
  for (const name of found.namespaces) if (!namespaces.has(name)) await network.detach(name, undefined);
}

async function sweepExits({ layout }: Machine, known: Known): Promise<void> {
  for (const name of await readdir(layout.exitsDir)) {
    const uid = parseContainerId(name)?.uid;
    if (uid === undefined || !known.has(uid)) await rm(join(layout.exitsDir, name), { force: true });
  }
}

/** Removes the files of runtime tests. Their containers and cgroups were removed with those of Pods. */
async function sweepTrials({ layout }: Machine): Promise<void> {
  for (const folder of [layout.runDir, layout.dataDir]) {
    const left = (await readdir(folder)).filter((name) => name.startsWith(trialPrefix));
    for (const name of left) {
      await unmount(await mountsUnder(join(folder, name)));
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
}
