import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Pod, Sandbox, SandboxSnapshot, SnapshotDepth } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { messageOf } from "../errors.ts";
import { containerId } from "../layout.ts";
import { countDisk } from "../pod/count-disk.ts";
import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { memberNamed } from "../pod/members.ts";
import { isLive } from "../pod/plan-stop.ts";
import type { PodRecord } from "../pod/record.ts";
import type { OciRuntime } from "../runtime/oci-runtime.ts";
import { callRuntime } from "../runtime/runtime-call.ts";
import { writeJson } from "../system/json-file.ts";
import { cloneTree, syncTree } from "./clone-tree.ts";
import { checkpointFolder, type FileSums, metaFile, sizeOf, sumFiles, volumesFolder } from "./image-files.ts";
import type { ImageMeta } from "./image-meta.ts";
import { type CheckpointTarget, sumOf } from "./image-vault.ts";
import { tellSandboxd } from "./sandboxd-lifecycle.ts";
import { checkBuild, describeImage, memoryOf, pausePod, sandboxOf, writableLayerOf } from "./save-pod.ts";
import type { SealedFiles } from "./sealed-meta.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";
import {
  type CaptureIntent,
  claimIn,
  layerIn,
  type SnapshotContainer,
  type SnapshotStore,
  type StoredSnapshot,
} from "./snapshot-store.ts";
import { type CapturedVolume, volumesToCapture } from "./snapshot-volumes.ts";
import { StateError } from "./state-error.ts";
import { checkStopped, containersToStop, continueProcesses, stopProcesses } from "./stop-processes.ts";

export interface Capture {
  readonly machine: Machine;
  readonly client: Client;
  readonly store: SnapshotStore;
  readonly snapshot: SandboxSnapshot;
  readonly sandbox: Sandbox;
  readonly pod: Pod;
  readonly record: PodRecord;
  /** Throws `QuotaExceeded` if a snapshot with these needs may not be kept. Replaces what was admitted before. */
  readonly admit: (needs: SnapshotNeeds) => Promise<void>;
}

/**
 * Takes a snapshot of a running Sandbox. Its processes stand still while memory and files are captured, so that both show the same
 * instant, and continue afterwards, whatever happens. Throws a StateError if there is no snapshot. `takeInTurn` estimates its needs.
 */
export async function takeSnapshot(capture: Capture, needs: SnapshotNeeds): Promise<StoredSnapshot> {
  const { machine, store, record } = capture;
  const uid = capture.snapshot.metadata.uid ?? "";
  const depth = depthOf(capture);
  if (depth === "Memory") await checkBuild(sandboxOf(machine, record), record);
  const volumes = volumesToCapture(capture.pod, capture.sandbox, record, capture.snapshot.spec);
  await capture.admit(needs);
  try {
    const folder = await store.begin(uid, intentOf(capture));
    const { stored, files } = await machine.snapshotRoom.guard((signal) =>
      write(folder, capture, { depth, volumes, signal }),
    );
    await capture.admit({ bytes: stored.sizeBytes, diskBytes: 0, isWritten: true });
    await store.commit(stored);
    await store.remember(uid, files);
    return stored;
  } catch (error) {
    await store.abandon(uid);
    throw toStateError(error);
  }
}

/** Writes everything but the record. The signal ends it between steps and during copies. */
async function write(
  folder: string,
  capture: Capture,
  { depth, volumes, signal }: { depth: SnapshotDepth; volumes: readonly CapturedVolume[]; signal: AbortSignal },
): Promise<{ readonly stored: StoredSnapshot; readonly files: FileSums }> {
  await using target = await targetOf(capture, folder);
  const work = (): Promise<void> => captureInto(folder, capture, { volumes, target, signal });
  const pauseMs = await standingStill(capture, depth, work);
  signal.throwIfAborted();
  // gVisor wrote them for its side effect only.
  if (depth === "Filesystem") await emptyFolder(target.folder);
  const sealed = await target.seal();
  const files = depth === "Memory" ? await describe(folder, capture, sealed) : {};
  await syncTree(folder);
  return { files, stored: await storedOf(capture, { folder, depth, pauseMs, volumes, sealed }) };
}

/** The wanted depth, or the greatest that the runtime supports. */
export function depthOf({ machine, record, snapshot }: Capture): SnapshotDepth {
  const wanted = snapshot.spec.depth;
  if (wanted === "Filesystem") return wanted;
  try {
    sandboxOf(machine, record);
    return "Memory";
  } catch (error) {
    if (wanted === undefined && error instanceof StateError && error.reason === "RuntimeCannotSave")
      return "Filesystem";
    throw error;
  }
}

/** The containers that run now, by their ids in the runtime. */
function liveIds({ uid, containers }: PodRecord): string[] {
  return Object.entries(containers).flatMap(([name, kept]) =>
    isLive(kept) ? [containerId(uid, name, kept.attempt)] : [],
  );
}

function intentOf({ machine, pod, record }: Capture): CaptureIntent {
  const { ids: stopped } = containersToStop(machine, pod, record);
  return { podUid: record.uid, runtime: runtimeNameOf(record), paused: pausedIds(machine, record), stopped };
}

/** What is paused: the sandbox as a whole, by its first container, or each container. */
function pausedIds(machine: Machine, record: PodRecord): string[] {
  const { checkpoints } = runtimeNamed(machine, runtimeNameOf(record));
  return checkpoints === undefined ? liveIds(record) : [sandboxOf(machine, record).id];
}

/** Runs `work` while no process of the Pod runs. Returns for how many milliseconds they stood still. */
async function standingStill(capture: Capture, depth: SnapshotDepth, work: () => Promise<void>): Promise<number> {
  const { machine, client, pod, record } = capture;
  const tell = { client, pod, address: record.address };
  const others = containersToStop(machine, pod, record);
  const from = performance.now();
  // First inside: a fork comes up with stopped processes, which continue when its identity is refreshed.
  const report = await tellSandboxd({ ...tell, event: "before-snapshot" });
  try {
    await stopProcesses(machine, others);
    await pause(machine, record);
    if (depth === "Memory") checkStopped(report, from);
    await work();
  } finally {
    await resumePod(machine, runtimeNameOf(record), pausedIds(machine, record));
    await continueProcesses(machine, others);
    if (report !== undefined) await tellSandboxd({ ...tell, event: "after-snapshot" });
  }
  return Math.ceil(performance.now() - from);
}

const alreadyPaused = /already paused|not able to pause|cannot pause/i;
const notPaused = /not paused|does not exist|not running|cannot resume/i;

export function runtimeNameOf({ containers }: PodRecord): string {
  return Object.values(containers)[0]?.runtime ?? "";
}

async function pause(machine: Machine, record: PodRecord): Promise<void> {
  const runtime = runtimeNamed(machine, runtimeNameOf(record));
  if (runtime.checkpoints !== undefined) return pausePod(machine, record);
  for (const id of liveIds(record)) await pauseContainer(runtime, id);
}

/** Pauses a container of a runtime that pauses each container by itself. */
export async function pauseContainer({ program, globalArgs }: OciRuntime, id: string): Promise<void> {
  await callRuntime({ program, args: globalArgs }, ["pause", id], alreadyPaused);
}

/** Continues the containers of a Pod. Those that are not paused, or have ended, stay as they are. */
export async function resumePod(
  machine: Pick<Machine, "runtimes">,
  runtimeName: string,
  ids: readonly string[],
): Promise<void> {
  const runtime = machine.runtimes.get(runtimeName);
  if (runtime === undefined) return;
  const command = { program: runtime.program, args: runtime.globalArgs };
  for (const id of ids) {
    if (runtime.checkpoints !== undefined) await runtime.checkpoints.resume(id);
    else await callRuntime(command, ["resume", id], notPaused);
  }
}

function targetOf({ machine, record }: Capture, folder: string): Promise<CheckpointTarget> {
  const { checkpoints } = runtimeNamed(machine, runtimeNameOf(record));
  return machine.vault.begin(folder, async () => {
    const memory = await memoryOf(machine, record);
    return checkpoints === undefined ? { ...memory, bytes: 0 } : memory;
  });
}

async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
}

async function captureInto(
  folder: string,
  capture: Capture,
  { volumes, target, signal }: { volumes: readonly CapturedVolume[]; target: CheckpointTarget; signal: AbortSignal },
): Promise<void> {
  const { machine, record } = capture;
  const { checkpoints } = runtimeNamed(machine, runtimeNameOf(record));
  if (checkpoints !== undefined) {
    // Also for depth Filesystem: gVisor writes its cached files back before it saves.
    await checkpoints.save(sandboxOf(machine, record).id, target.folder);
  }
  for (const { name } of containersOf(capture)) {
    await cloneTree(writableLayerOf(machine, record, name), layerIn(folder, name), signal);
  }
  for (const { name, path, isClaim, isMemory } of volumes) {
    if (isMemory && target.addVolume !== undefined) await target.addVolume(name, path);
    else await cloneTree(path, isClaim ? claimIn(folder, name) : join(volumesFolder(folder), name), signal);
  }
}

/** The containers with files of their own. The holder has none, and debug containers are not part of the Sandbox. */
export function containersOf({ pod, record }: Capture): SnapshotContainer[] {
  return Object.entries(record.containers).flatMap(([name, { reference = "", image = "" }]) => {
    const member = memberNamed(pod, name);
    return member === undefined || member.role === "ephemeral" ? [] : [{ name, reference, image }];
  });
}

/** Makes the snapshot an image that a Pod can be restored from. Returns the sums of its files, if they are not encrypted. */
async function describe(folder: string, capture: Capture, sealed: SealedFiles | undefined): Promise<FileSums> {
  const { machine, pod, record, sandbox } = capture;
  const checkpoint = checkpointFolder(folder);
  for (const name of await readdir(checkpoint)) await chmod(join(checkpoint, name), 0o600);
  const files = sealed === undefined ? await sumFiles(folder) : {};
  const meta: ImageMeta = {
    ...(await describeImage(machine, pod, record)),
    kind: "snapshot",
    sandboxUid: sandbox.metadata.uid ?? "",
    epoch: epochOf(sandbox),
    isStopped: true,
    files,
    ...(sealed && { sealed }),
    sizeBytes: sealed === undefined ? sizeOf(files) : sumOf(sealed),
  };
  await writeJson(join(folder, metaFile), await machine.vault.metaOf(folder, meta));
  return files;
}

export function epochOf({ status }: Sandbox): number {
  return status?.suspension?.epoch ?? 0;
}

async function storedOf(
  capture: Capture,
  {
    folder,
    depth,
    pauseMs,
    volumes,
    sealed,
  }: {
    folder: string;
    depth: SnapshotDepth;
    pauseMs: number;
    volumes: readonly CapturedVolume[];
    sealed: SealedFiles | undefined;
  },
): Promise<StoredSnapshot> {
  const { machine, snapshot, sandbox, record } = capture;
  const { uid = "", namespace = "", name = "" } = snapshot.metadata;
  const runtime = runtimeNamed(machine, runtimeNameOf(record));
  const version = (await runtime.checkpoints?.build())?.version ?? "";
  return {
    version: 1,
    uid,
    namespace,
    name,
    sandbox: { name: sandbox.metadata.name ?? "", uid: sandbox.metadata.uid ?? "" },
    depth,
    epoch: epochOf(sandbox),
    runtime: { name: runtime.name, version },
    containers: containersOf(capture),
    claims: volumes.filter(({ isClaim }) => isClaim).map((volume) => volume.name),
    ...(depth === "Filesystem" && sealed && { sealed }),
    pauseMs,
    sizeBytes: (await countDisk([folder]))?.get(folder) ?? 0,
    createdAt: machine.now(),
  };
}

/** A disk that is full is a quota: the snapshot can be taken when something else is removed. */
export function toStateError(error: unknown): StateError {
  if (error instanceof StateError) return error;
  const message = messageOf(error);
  const isFull = /no space left on device|ENOSPC|disk quota exceeded/i.test(message);
  return new StateError(isFull ? "QuotaExceeded" : "SaveFailed", `Cannot take a snapshot: ${message}`, {
    cause: error,
  });
}
