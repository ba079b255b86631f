import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { Pod } from "@agent-sandbox/api";
import { diskSpace } from "../image/disk-room.ts";
import { keptPaths } from "../image/kept-rootfs.ts";
import { containerId, containerPaths, podPaths } from "../layout.ts";
import { cgroupUsage } from "../metrics/cgroup-usage.ts";
import type { Effects } from "../pod/effects.ts";
import { firstContainer } from "../pod/first-container.ts";
import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { memberNamed } from "../pod/members.ts";
import { observeRuns } from "../pod/observe-runs.ts";
import { isInitialized } from "../pod/plan-containers.ts";
import { isLive } from "../pod/plan-stop.ts";
import type { PodRecord } from "../pod/record.ts";
import type { Checkpoints, OciRuntime } from "../runtime/oci-runtime.ts";
import { settleAll } from "../system/settle-all.ts";
import { readCpuFeatures } from "./cpu-features.ts";
import { copyMemoryVolumes } from "./empty-dirs.ts";
import { hashContainers } from "./hash-containers.ts";
import { type FileSums, sizeOf, sumFiles } from "./image-files.ts";
import type { ImageMeta } from "./image-meta.ts";
import { type CheckpointTarget, sumOf } from "./image-vault.ts";
import { runHooks } from "./sandboxd-lifecycle.ts";
import type { SealedFiles } from "./sealed-meta.ts";
import { StateError } from "./state-error.ts";
import { syncChanged } from "./sync-changed.ts";

export interface SaveRequest {
  readonly pod: Pod;
  readonly record: PodRecord;
  readonly epoch: number;
  /** An earlier process of the node began the save. */
  readonly again: boolean;
  readonly signal: AbortSignal;
}

/** The sandbox of a Pod, whose containers are saved together. */
export interface PodSandbox {
  /** The id of its first container. */
  readonly id: string;
  readonly runtime: OciRuntime;
  readonly checkpoints: Checkpoints;
}

/**
 * Writes the image of a Pod's memory and returns its size. The Pod is paused and cut off from the network afterwards, also when
 * this fails: the caller ends it, or continues it with `undoSave`. Nothing of the Pod ends here.
 */
export async function savePod(effects: Effects, request: SaveRequest): Promise<number> {
  const { machine } = effects;
  const { record, epoch, signal } = request;
  const key = { sandboxUid: record.keptFor ?? "", epoch };
  // An earlier process of the node may have completed the image. After a power failure not even the Pod's record says so.
  const found = await machine.suspensions.find(key).catch(() => undefined);
  if (found?.meta.podUid === record.uid) {
    await machine.suspensions.settle(key);
    return found.meta.sizeBytes;
  }
  if (!isInitialized(request.pod, record, {})) throw new StateError("SourceNotRunning", "The Pod is still starting");
  const write = (): Promise<number> => writeSuspension(effects, request, key);
  // A snapshot of this Pod that is being taken would continue it in the middle of the save.
  const alone = (): Promise<number> => machine.standstill.run(record.uid, write, signal);
  return machine.saves.run(record.namespace, alone, signal);
}

async function writeSuspension(
  effects: Effects,
  request: SaveRequest,
  key: { sandboxUid: string; epoch: number },
): Promise<number> {
  const { machine } = effects;
  const { pod, record, signal } = request;
  const { suspensions, network, layout } = machine;
  suspensions.admit({ sandboxUid: key.sandboxUid, namespace: record.namespace, bytes: 0 });
  const sandbox = sandboxOf(machine, record);
  await settleAll([checkBuild(sandbox, record), checkRoom(machine, record)]);
  const isPaused = request.again && (await sandbox.checkpoints.isPaused(sandbox.id));
  if (!isPaused) await prepareInside(effects, request);
  signal.throwIfAborted();
  const about = describeImage(machine, pod, record);
  // Awaited below. Until then nobody handles its failure.
  about.catch(() => undefined);
  const partial = await suspensions.begin(key);
  // Before the pause, because this may wait for memory.
  await using target = await machine.vault.begin(partial, () => memoryOf(machine, record));
  // Cut off before the checkpoint: what the Pod acknowledges during it or afterwards could be lost, so nothing may reach it.
  await settleAll([network.setLink(record.address, "down"), pausePod(machine, record)]);
  signal.throwIfAborted();
  await sandbox.checkpoints.save(sandbox.id, target.folder);
  await copyMemoryVolumes(layout, pod, partial, target);
  const [[sealed, files]] = await Promise.all([completed(partial, target), syncFiles(machine, record)]);
  const sizeBytes = sealed === undefined ? sizeOf(files) : sumOf(sealed);
  signal.throwIfAborted();
  const content = { files, sizeBytes, ...(sealed && { sealed }) };
  await suspensions.commit(partial, { ...(await about), ...key, kind: "suspension", ...content });
  return sizeBytes;
}

/** Encrypts the image if there is a key, or computes and syncs its files. */
async function completed(
  partial: string,
  target: Pick<CheckpointTarget, "seal">,
): Promise<readonly [SealedFiles | undefined, FileSums]> {
  const sealed = await target.seal();
  return [sealed, sealed === undefined ? await sumFiles(partial) : {}];
}

/**
 * Syncs the files that the Pod has written: after a power failure they must not be older than the memory that refers to them. gVisor
 * has written its cached files back when it saved the memory. Files of claims are left to the programs that write them.
 */
async function syncFiles(machine: Machine, record: PodRecord): Promise<void> {
  const { layout } = machine;
  const roots = Object.keys(record.containers).map((name) => writableLayerOf(machine, record, name));
  // Clocks of filesystems are coarse.
  const since = record.startTime - 2000;
  await Promise.all([...roots, podPaths(layout, record.uid).volumes].map((root) => syncChanged(root, since)));
}

/** The folder that receives the writes of a container. */
export function writableLayerOf(
  { layout }: Pick<Machine, "layout">,
  { uid, keptFor = "" }: Pick<PodRecord, "uid" | "keptFor">,
  container: string,
): string {
  return keptFor === "" ? containerPaths(layout, uid, container).upper : keptPaths(layout, keptFor, container).upper;
}

/** The sandbox of a running Pod. Throws if its runtime cannot save it. */
export function sandboxOf(machine: Machine, record: PodRecord): PodSandbox {
  const name = firstContainer(record);
  const kept = record.containers[name];
  if (kept === undefined || !isLive(kept)) throw new StateError("SourceNotRunning", "The Pod does not run");
  const runtime = runtimeNamed(machine, kept.runtime);
  const { checkpoints } = runtime;
  if (checkpoints !== undefined) return { id: containerId(record.uid, name, kept.attempt), runtime, checkpoints };
  throw new StateError("RuntimeCannotSave", `Runtime "${runtime.name}" cannot save the memory of a Pod`);
}

/** Pauses a Pod. Throws `SourceNotRunning` if one of its containers has ended in the meantime. */
export async function pausePod(machine: Machine, record: PodRecord): Promise<void> {
  const { checkpoints, id } = sandboxOf(machine, record);
  await checkpoints.pause(id);
  const runs = await observeRuns(machine, record);
  const ended = Object.entries(runs).find(([name, { alive }]) => !alive && isLive(record.containers[name]));
  if (ended !== undefined) throw new StateError("SourceNotRunning", `Container "${ended[0]}" has ended`);
}

/** The description of an image of this Pod, without what depends on its kind and files. */
export async function describeImage(
  machine: Machine,
  pod: Pod,
  record: PodRecord,
): Promise<Omit<ImageMeta, "kind" | "epoch" | "sandboxUid" | "files" | "sizeBytes">> {
  const { runtime, checkpoints } = sandboxOf(machine, record);
  const kept = Object.entries(record.containers).filter(([name]) => memberNamed(pod, name)?.role !== "ephemeral");
  return {
    version: 1,
    namespace: record.namespace,
    podUid: record.uid,
    savedAt: machine.now(),
    runtime: runtime.name,
    build: await checkpoints.build(),
    cpu: await readCpuFeatures(),
    specHash: hashContainers(pod),
    identity: record.identity === true,
    containers: Object.fromEntries(kept),
  };
}

/**
 * After an upgrade of the runtime, sandboxes that the earlier program started still run it. No program of this node could restore
 * their images.
 */
export async function checkBuild({ runtime, checkpoints }: PodSandbox, record: PodRecord): Promise<void> {
  const pid = record.containers[firstContainer(record)]?.run?.process.pid;
  const running = `/proc/${pid}/exe`;
  const [own, installed] = await Promise.all([stat(running), stat(runtime.program)]);
  if (own.ino === installed.ino && own.dev === installed.dev) return;
  const hash = createHash("sha256");
  await pipeline(createReadStream(running), hash);
  if (hash.digest("hex") === (await checkpoints.build()).sha256) return;
  const message = "Cannot save the memory of the Pod: it was started by another version of gVisor";
  throw new StateError("RuntimeVersionDiffers", message);
}

/** An image has at most the size of the Pod's memory. */
export async function checkRoom(machine: Machine, record: PodRecord): Promise<void> {
  const { layout, budget } = machine;
  const [{ freeBytes }, { bytes: wanted }] = await Promise.all([diskSpace(layout.stateDir), memoryOf(machine, record)]);
  if (freeBytes - wanted >= budget.diskFreeBytes) return;
  const why = `the disk has ${freeBytes} free bytes, of which this node keeps ${budget.diskFreeBytes}`;
  throw new StateError("QuotaExceeded", `Cannot save the memory of the Pod: it uses ${wanted} bytes, and ${why}`);
}

/** The cgroup of a Pod and the memory that it uses. */
export async function memoryOf(
  { cgroups, layout }: Machine,
  { uid }: PodRecord,
): Promise<{ readonly cgroup: string; readonly bytes: number }> {
  const { cgroup } = podPaths(layout, uid);
  return { cgroup, bytes: (await cgroupUsage(cgroups, cgroup))?.workingSetBytes ?? 0 };
}

/** Runs the sandbox's hook and ends what cannot be restored: sessions and debug containers. */
async function prepareInside(effects: Effects, { pod, record, signal }: SaveRequest): Promise<void> {
  const { machine, client, recordEvent } = effects;
  const call = { client, pod, address: record.address, event: "before-suspend", signal } as const;
  await runHooks(call, recordEvent);
  effects.endSessions(record.uid, "the Pod was suspended");
  for (const [name, kept] of Object.entries(record.containers)) {
    if (memberNamed(pod, name)?.role === "ephemeral" && isLive(kept))
      await runtimeNamed(machine, kept.runtime).remove(containerId(record.uid, name, kept.attempt));
  }
}

/** Continues a Pod whose save has failed or was abandoned, and removes its image. Can be repeated. */
export async function undoSave(machine: Machine, record: PodRecord, epoch: number): Promise<void> {
  const key = { sandboxUid: record.keptFor ?? "", epoch };
  if (key.sandboxUid !== "") await machine.suspensions.remove(key);
  await continuePod(machine, record);
}

/** Continues a paused Pod and connects it again. */
export async function continuePod(machine: Machine, record: PodRecord): Promise<void> {
  const name = firstContainer(record);
  const kept = record.containers[name];
  if (!isLive(kept) || kept === undefined) return;
  await runtimeNamed(machine, kept.runtime).checkpoints?.resume(containerId(record.uid, name, kept.attempt));
  await machine.network.setLink(record.address, "up");
}
