import { mkdirSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { messageOf } from "../errors.ts";
import { endAbandonedExecs } from "../exec/abandoned.ts";
import { parseContainerId, podPaths } from "../layout.ts";
import { runsSandboxd } from "../state/sandboxd-lifecycle.ts";
import { killCgroup, removeCgroup } from "../system/cgroups.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { endProcess, endsSoon } from "../system/processes.ts";
import { mountVolumes } from "../volume/mount-volumes.ts";
import type { SourceSnapshot } from "../volume/sources.ts";
import { controllingSandbox, keptForSandbox } from "./controlling-sandbox.ts";
import type { Effects } from "./effects.ts";
import { etcFiles } from "./etc-files.ts";
import type { Machine } from "./machine.ts";
import { isToBeSaved, wantedImage } from "./plan-save.ts";
import { runtimeOf } from "./pod-runtime.ts";
import type { PodRecord } from "./record.ts";
import { attachPod } from "./start-container.ts";
import { hasUserNamespace } from "./supported.ts";

/**
 * Prepares a Pod's address, files and volumes. Also begins to attach the network; the start of the first container waits
 * for it.
 */
export async function setUp(
  effects: Effects,
  pod: Pod,
  { before, images }: { readonly before: PodRecord | undefined; readonly images: VolumeImages },
): Promise<void> {
  const { machine, sources } = effects;
  const { records } = machine;
  await sources.refresh(pod);
  const record = before ?? (await newRecord(effects, pod));
  try {
    if (before === undefined) await records.create(record);
  } catch (error) {
    releaseNumbers(machine, record);
    throw error;
  }
  const text = `Successfully assigned ${record.namespace}/${record.name} to ${pod.spec?.nodeName}`;
  if (before === undefined) effects.recordEvent(pod, { reason: "Scheduled", text });
  // The start of the first container awaits the same attach and gets its error.
  attachPod(machine, record).catch(() => undefined);
  writeEtc(machine, pod, record);
  const filled = await fillVolumes(effects, pod, record, images);
  await records.write({ ...record, ...filled, prepared: true });
}

async function newRecord(effects: Effects, pod: Pod): Promise<PodRecord> {
  const { rules } = effects;
  const { network, users, runtimes, now } = effects.machine;
  const { uid = "", namespace = "", name = "" } = pod.metadata ?? {};
  const sandbox = await controllingSandbox(effects.client, pod);
  const first = pod.spec?.containers[0]?.name;
  const runtime = runtimeOf(pod, { containers: {} }, rules.defaultRuntime);
  const keptFor = keptForSandbox(effects, pod, sandbox);
  // Begun now, because it takes longer than saving a small Pod.
  if (isToBeSaved(pod))
    runtimes
      .get(runtime)
      ?.checkpoints?.build()
      .catch(() => undefined);
  const image = wantedImage(pod);
  return {
    version: 1,
    uid,
    namespace,
    name,
    address: network.pool.take({ owner: sandbox, namespace }),
    ...(hasUserNamespace(pod, runtime, rules) && { ids: users.take(pod, runtime) }),
    startTime: now(),
    keptFor,
    // Any Sandbox can be the source of a fork, in which sandboxd reads who it is.
    ...(keptFor !== "" && (isToBeSaved(pod) || runsSandboxd(pod)) && { identity: true }),
    ...(image !== undefined && { restore: { step: "wanted", image } }),
    ...(first !== undefined && { defaultContainer: first }),
    prepared: false,
    containers: {},
  };
}

function writeEtc(machine: Machine, pod: Pod, record: PodRecord): void {
  const { etc } = podPaths(machine.layout, record.uid);
  mkdirSync(etc, { recursive: true });
  for (const [name, content] of Object.entries(
    etcFiles(pod, { address: record.address, nameServer: machine.network.pool.gateway }),
  )) {
    writeFileSync(join(etc, name), content, { mode: 0o644 });
  }
}

/** Updates the volumes of a running Pod from their source objects. */
export async function syncVolumes(
  effects: Effects,
  pod: Pod,
  { record, images }: { readonly record: PodRecord; readonly images: VolumeImages },
): Promise<void> {
  const { machine } = effects;
  const { refreshVolumesAt: _old, ...kept } = record;
  try {
    await machine.records.write({ ...kept, ...(await fillVolumes(effects, pod, record, images)) });
  } catch (error) {
    // After a boot the volumes in memory are empty, so no container may start before they are filled.
    if (!record.sourcesVersion?.startsWith(machine.bootId)) throw error;
    effects.recordEvent(pod, { type: "Warning", reason: "FailedMount", text: messageOf(error) });
    const known = { sourcesVersion: sourcesVersion(machine, effects.sources.snapshot(pod)) };
    await machine.records.write({ ...kept, ...known, refreshVolumesAt: machine.now() + retryVolumesMs });
  }
}

/** Running containers keep the old content while the update fails. */
const retryVolumesMs = 10_000;

/** The image ids of image volumes, by volume. */
type VolumeImages = Readonly<Record<string, string>>;

type Filled = Pick<PodRecord, "volumes" | "sourcesVersion" | "refreshVolumesAt">;

async function fillVolumes(effects: Effects, pod: Pod, record: PodRecord, images: VolumeImages): Promise<Filled> {
  const { uid, address, prepared, ids } = record;
  const { machine, client, hostAddress, sources } = effects;
  const snapshot = sources.snapshot(pod);
  const isNew = !prepared;
  const users = ids && (() => machine.users.open(uid, ids));
  const context = { machine, client, pod, address, hostAddress, sources: snapshot, isNew, images, users };
  const mounted = await mountVolumes(uid, context);
  return { ...mounted, sourcesVersion: sourcesVersion(machine, snapshot) };
}

/** The version of a Pod's volumes. It contains the boot id, because volumes in memory must be filled again after a boot. */
export function sourcesVersion({ bootId }: Machine, { version }: SourceSnapshot): string {
  return [bootId, ...(version === "" ? [] : [version])].join(" ");
}

/** Ends a Pod's processes and releases its resources. Its folder with the logs stays. */
export async function release({ machine, tasks }: Effects, record: PodRecord): Promise<void> {
  tasks.forget(record.uid);
  await releaseResources(machine, record);
  await machine.records.write({ ...record, released: true });
}

/** Removes everything of a Pod. The record is removed last, so that the teardown continues after a crash. */
export async function tearDown(machine: Machine, record: PodRecord): Promise<void> {
  await releaseResources(machine, record);
  await removeExits(machine, record);
  await machine.records.remove(record.uid);
}

async function releaseResources(machine: Machine, record: PodRecord): Promise<void> {
  const { layout, cgroups, network } = machine;
  const paths = podPaths(layout, record.uid);
  // Their cgroups are inside those of the containers, which the runtime could not remove otherwise.
  await endAbandonedExecs(machine, record.uid);
  for (const runtime of machine.runtimes.values()) {
    const own = (await runtime.list()).filter((id) => parseContainerId(id)?.uid === record.uid);
    for (const id of own) await runtime.remove(id);
  }
  // Let the monitors write the exit files.
  for (const { run } of Object.values(record.containers)) {
    if (run !== undefined && !(await endsSoon(run.monitor.pid, run.monitor.start))) await endProcess(run.monitor.pid);
  }
  await killCgroup(cgroups, paths.cgroup);
  await removeCgroup(cgroups, paths.cgroup);
  await network.detach(paths.netns, record.released ? undefined : record.address);
  await unmount(await mountsUnder(paths.dir));
  await machine.users.remove(record.uid);
  if (!record.released) releaseNumbers(machine, record);
}

function releaseNumbers({ network, users }: Machine, { address, ids }: PodRecord): void {
  network.pool.release(address);
  if (ids !== undefined) users.release(ids);
}

async function removeExits({ layout }: Machine, { uid }: PodRecord): Promise<void> {
  const own = (await readdir(layout.exitsDir)).filter((name) => name.startsWith(`${uid}_`));
  await Promise.all(own.map((name) => rm(join(layout.exitsDir, name), { force: true })));
}
