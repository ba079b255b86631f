import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { mountRootfs } from "../image/rootfs.ts";
import { containerPaths, parseContainerId, podPaths } from "../layout.ts";
import { killCgroup, removeCgroup } from "../system/cgroups.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { endProcess, endsSoon } from "../system/processes.ts";
import { etcFiles } from "./etc-files.ts";
import type { Machine } from "./machine.ts";
import type { PodRecord } from "./record.ts";

/** What a Pod's containers need before they can start: an address, a network namespace, files, volumes and roots. */
export async function setUp(machine: Machine, pod: Pod, before: PodRecord | undefined): Promise<void> {
  const { records, network, images, now } = machine;
  const { uid = "", namespace = "", name = "" } = pod.metadata ?? {};
  const image = await images.resolve(pod.spec?.containers[0]?.image ?? "");
  const record: PodRecord = before ?? {
    version: 1,
    uid,
    namespace,
    name,
    address: network.pool.take(),
    image: image.id,
    startTime: now(),
    prepared: false,
    containers: {},
  };
  try {
    if (before === undefined) await records.create(record);
  } catch (error) {
    network.pool.release(record.address);
    throw error;
  }
  await Promise.all([
    network.attach(podPaths(machine.layout, uid).netns, record.address),
    writeFolders(machine, pod, record),
    ...(pod.spec?.containers ?? []).map(({ name: container }) =>
      mountRootfs(image, containerPaths(machine.layout, uid, container)),
    ),
  ]);
  await records.write({ ...record, prepared: true });
}

async function writeFolders(machine: Machine, pod: Pod, record: PodRecord): Promise<void> {
  const paths = podPaths(machine.layout, record.uid);
  await mkdir(paths.etc, { recursive: true });
  for (const [name, content] of Object.entries(etcFiles(pod, record.address))) {
    await writeFile(join(paths.etc, name), content, { mode: 0o644 });
  }
  for (const { name } of pod.spec?.volumes ?? []) {
    const volume = join(paths.volumes, name);
    await mkdir(volume, { recursive: true });
    // Past the process's umask: any user of the sandbox may write to an emptyDir.
    await chmod(volume, 0o777);
  }
}

/** Ends a Pod's processes and gives back what the machine lent it. Its folder, with the outputs, stays. */
export async function release(machine: Machine, record: PodRecord): Promise<void> {
  await giveBack(machine, record);
  await machine.records.write({ ...record, released: true });
}

/** Leaves nothing of a Pod. The record goes last: until then, a crash finds what is still to be done. */
export async function tearDown(machine: Machine, record: PodRecord): Promise<void> {
  await giveBack(machine, record);
  await removeExits(machine, record);
  await machine.records.remove(record.uid);
}

async function giveBack(machine: Machine, record: PodRecord): Promise<void> {
  const { layout, cgroups, network } = machine;
  const paths = podPaths(layout, record.uid);
  for (const runtime of machine.runtimes.values()) {
    const own = (await runtime.list()).filter((id) => parseContainerId(id)?.uid === record.uid);
    for (const id of own) await runtime.remove(id);
  }
  // The monitors still write down how the containers ended.
  for (const { run } of Object.values(record.containers)) {
    if (run !== undefined && !(await endsSoon(run.monitor.pid, run.monitor.start))) await endProcess(run.monitor.pid);
  }
  await killCgroup(cgroups, paths.cgroup);
  await removeCgroup(cgroups, paths.cgroup);
  await network.detach(paths.netns, record.released ? undefined : record.address);
  await unmount(await mountsUnder(paths.dir));
  if (!record.released) network.pool.release(record.address);
}

async function removeExits({ layout }: Machine, { uid }: PodRecord): Promise<void> {
  const own = (await readdir(layout.exitsDir)).filter((name) => name.startsWith(`${uid}_`));
  await Promise.all(own.map((name) => rm(join(layout.exitsDir, name), { force: true })));
}
