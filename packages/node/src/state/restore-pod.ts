import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Pod, parseImageReference } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { containerId } from "../layout.ts";
import { pathsOf, runOf, withRun, writeContainer } from "../pod/create-container.ts";
import type { Effects } from "../pod/effects.ts";
import { runHolder } from "../pod/holder.ts";
import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { holderName, membersOf, needsHolder } from "../pod/members.ts";
import { wantedImage } from "../pod/plan-save.ts";
import { isLive } from "../pod/plan-stop.ts";
import { runtimeOf } from "../pod/pod-runtime.ts";
import type { ContainerRecord, PodRecord } from "../pod/record.ts";
import { startContainer } from "../pod/start-container.ts";
import { findMonitors } from "../runtime/monitor.ts";
import { readCpuFeatures } from "./cpu-features.ts";
import { moveVolumesIn, moveVolumesOut } from "./empty-dirs.ts";
import { hashContainers } from "./hash-containers.ts";
import { checkPlace, type ImageMeta, readMeta } from "./image-meta.ts";
import type { OpenCheckpoint } from "./image-vault.ts";
import { openSnapshot, placeFiles, type UsableSnapshot } from "./restore-snapshot.ts";
import { runHooks } from "./sandboxd-lifecycle.ts";
import { ownFiles } from "./sealed-meta.ts";
import { StateError } from "./state-error.ts";
import { containersToStop, continueProcesses } from "./stop-processes.ts";
import type { StoredImage } from "./suspensions.ts";
import { verifyFiles } from "./verify-image.ts";

/**
 * Restores the containers of a Pod from its image instead of starting them. When this is not possible, the record says why, and
 * nothing of the Pod runs. Continues a restore that a crash interrupted. An image is used by one Pod only: once that Pod has run,
 * its files have changed.
 */
export async function restorePod(effects: Effects, pod: Pod, record: PodRecord): Promise<void> {
  const { machine } = effects;
  const name = wantedImage(pod) ?? "";
  // Decrypted files are removed when the runtime has opened them, or when the restore has failed.
  await using decrypted = new AsyncDisposableStack();
  try {
    const image = await openImage(effects, pod, record, name);
    decrypted.use(image.checkpoint);
    const isInterrupted = record.restore?.step === "begun";
    // Before the first record: as long as the restore has not begun, nothing has run that could have changed the files.
    if (!isInterrupted) await image.prepare?.();
    if (!isInterrupted) await beginRestore(effects, pod, record, image);
    await image.claim?.();
    for (const container of orderOf(pod, image.meta)) {
      const current = await recordOf(machine, record);
      if (isLive(current.containers[container])) continue;
      if (isInterrupted && (await adopt(effects, pod, current, container))) continue;
      await restoreContainer(effects, pod, current, { container, image, again: isInterrupted });
    }
    await machine.network.setLink(record.address, "up");
    if (orderOf(pod, image.meta).length > 0) await tellInside(effects, pod, record, image);
    const restored = await recordOf(machine, record);
    const { snapshot } = image;
    const restore = { step: "running", image: name, ...(snapshot !== undefined && { snapshot }) } as const;
    await machine.records.write({ ...restored, restore });
    await image.used?.();
  } catch (error) {
    // The Pod before this one is not removed yet.
    if (error instanceof NodeError && error.reason === "SandboxError") throw error;
    await giveUp(effects, pod, record, { name, error });
  }
}

/** Removes images that Pods have continued from. A node that is killed right after a restore leaves them behind. */
export async function removeContinued({
  records,
  suspensions,
}: Pick<Machine, "records" | "suspensions">): Promise<void> {
  for (const record of (await records.list()).values()) {
    if (record?.restore?.step === "running") await suspensions.removeOlder(record.keptFor ?? "", record.uid);
  }
}

/** Lets the sandbox refresh its identity and run its hook. The Pod is not ready before that. */
async function tellInside(effects: Effects, pod: Pod, record: PodRecord, image: UsableImage): Promise<void> {
  const { client, recordEvent, machine } = effects;
  const event = image.snapshot === undefined ? "after-resume" : "after-fork";
  await runHooks({ client, pod, address: record.address, event }, recordEvent);
  if (image.snapshot === undefined) return;
  await continueProcesses(machine, containersToStop(machine, pod, await recordOf(machine, record)));
}

/** An image that this Pod may use. */
export interface UsableImage extends Pick<StoredImage, "folder"> {
  /** The files for the runtime. */
  readonly checkpoint: OpenCheckpoint;
  readonly meta: Pick<ImageMeta, "containers" | "identity">;
  /** The name of the SandboxSnapshot that the image belongs to. */
  readonly snapshot?: string;
  /** Gives the Pod the files of the image. Called before anything of the Pod is restored. */
  readonly prepare?: () => Promise<void>;
  /** Called before the first container is restored. Throws if another Pod has used the image. */
  readonly claim?: () => Promise<void>;
  /** Called when the Pod runs. */
  readonly used?: () => Promise<void>;
}

/** Finds the image that a Pod names, and checks that the Pod may use it and that it can be restored here. */
async function openImage(effects: Effects, pod: Pod, record: PodRecord, name: string): Promise<UsableImage> {
  const { machine } = effects;
  const reference = parseImageReference(name);
  const sandboxUid = record.keptFor ?? "";
  if (reference === undefined) throw new StateError("RestoreFailed", `"${name}" does not name an image`);
  if (sandboxUid === "") throw new StateError("RestoreFailed", "No Sandbox controls this Pod");
  if (reference.type === "snapshot") return openSnapshotImage(effects, pod, record, reference.uid);
  const key = { sandboxUid, epoch: reference.epoch };
  const image = await machine.suspensions.find(key);
  if (image === undefined || image.meta.sandboxUid !== sandboxUid || image.meta.namespace !== record.namespace) {
    throw new StateError("ImageMissing", `This node has no image "${name}" of the Sandbox`);
  }
  await checkImage(effects, pod, record, image);
  if (orderOf(pod, image.meta).length === 0) {
    throw new StateError("ImageDamaged", "Cannot restore the image: it contains no running container of the Pod");
  }
  const checkpoint = await machine.vault.open(image.folder, image.meta);
  return {
    ...image,
    checkpoint,
    claim: async () => {
      await machine.suspensions.claim(key, record.uid);
      await moveVolumesIn(machine.layout, record.uid, image.folder, checkpoint);
    },
    used: () => machine.suspensions.remove(key),
  };
}

/**
 * Opens the snapshot that a Pod names. Any number of Pods can be restored from it, each with its own copy of the files. A snapshot
 * without memory gives an image without containers: they are started.
 */
async function openSnapshotImage(effects: Effects, pod: Pod, record: PodRecord, uid: string): Promise<UsableImage> {
  const { machine } = effects;
  const found = await openSnapshot(effects, pod, record, uid);
  const { folder, stored } = found;
  const image = stored.depth === "Memory" ? await openMemory(effects, pod, record, found) : undefined;
  const checkpoint = await machine.vault.open(folder, image?.meta ?? ownFiles(folder, stored));
  return {
    folder,
    checkpoint,
    meta: image?.meta ?? { containers: {}, identity: record.identity === true },
    snapshot: stored.name,
    prepare: () => placeFiles(machine, record, found, checkpoint),
    // The Sandbox continues from here: memory that was saved before is out of date.
    used: () => machine.suspensions.removeOlder(record.keptFor ?? "", record.uid),
  };
}

async function openMemory(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  { folder, stored }: UsableSnapshot,
): Promise<StoredImage> {
  const meta = await readMeta(folder, effects.machine.vault.keys);
  if (meta === undefined) throw new StateError("ImageMissing", `SandboxSnapshot "${stored.name}" has lost its memory`);
  await checkImage(effects, pod, record, { folder, meta });
  return { folder, meta };
}

/** Throws a StateError if an image cannot be restored by this Pod on this machine. */
export async function checkImage(
  { machine, rules }: Effects,
  pod: Pod,
  record: PodRecord,
  { folder, meta }: StoredImage,
): Promise<void> {
  const { checkpoints, name } = runtimeNamed(machine, runtimeOf(pod, record, rules.defaultRuntime));
  if (checkpoints === undefined) {
    throw new StateError("RuntimeCannotSave", `Runtime "${name}" cannot restore the memory of a Pod`);
  }
  const [build, cpu] = await Promise.all([checkpoints.build(), readCpuFeatures()]);
  checkPlace(meta, { build, cpu, specHash: hashContainers(pod) });
  await verifyFiles(folder, meta.files);
}

/** Records the containers of the image in the Pod's record: restarts, exit codes and hooks are those of the saved Pod. */
async function beginRestore({ machine }: Effects, pod: Pod, record: PodRecord, { meta }: UsableImage): Promise<void> {
  const containers = Object.fromEntries(
    Object.entries(meta.containers)
      .filter(([name]) => name === holderName || membersOf(pod).some(({ container }) => container.name === name))
      .map(([name, kept]) => [name, isLive(kept) ? withoutRun(kept) : kept] as const),
  );
  const restore = { step: "begun", image: wantedImage(pod) ?? "" } as const;
  // The mounts of a restored container must be those that it was saved with.
  await machine.records.write({ ...record, identity: meta.identity, restore, containers });
}

function withoutRun({ run: _run, stopping: _stopping, ...kept }: ContainerRecord): ContainerRecord {
  return kept;
}

/** The containers of the saved sandbox, in the order in which they are restored. */
function orderOf(pod: Pod, { containers }: Pick<ImageMeta, "containers">): string[] {
  const names = [...(needsHolder(pod) ? [holderName] : []), ...membersOf(pod).map(({ container }) => container.name)];
  return names.filter((name) => isLive(containers[name]));
}

async function restoreContainer(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  { container, image, again }: { readonly container: string; readonly image: UsableImage; readonly again: boolean },
): Promise<void> {
  const saved = image.meta.containers[container];
  const attempt = saved?.attempt ?? 0;
  const restoration = { folder: image.checkpoint.folder, again };
  if (container === holderName) await runHolder(effects, pod, record, { attempt, restoration });
  else await startContainer(effects, pod, record, { name: container, attempt, restoration });
  await keepHistory(effects.machine, record, { container, saved });
}

/** The command has been running since it was first started, and its `postStart` hook has run. */
async function keepHistory(
  machine: Machine,
  record: PodRecord,
  { container, saved }: { readonly container: string; readonly saved: ContainerRecord | undefined },
): Promise<void> {
  const current = await recordOf(machine, record);
  const kept = current.containers[container];
  if (kept?.run === undefined || saved?.run === undefined) return;
  const { startedAt, hooked } = saved.run;
  const run = { ...kept.run, startedAt, ...(hooked !== undefined && { hooked }) };
  await writeContainer(machine, current, container, { ...kept, run });
}

const adoptTimeoutMs = 60_000;
const adoptRoundMs = 20;

/**
 * Finds the container that a killed process of the node was restoring. Its monitor goes on by itself, so the container may
 * already run and must not be restored a second time. Returns false if the restore had not begun.
 */
async function adopt(effects: Effects, pod: Pod, record: PodRecord, name: string): Promise<boolean> {
  const { machine } = effects;
  const kept = record.containers[name];
  const { pidFile, monitorPidFile } = pathsOf(machine, record, name);
  if (kept === undefined) return false;
  const id = containerId(record.uid, name, kept.attempt);
  const isMonitored = async (): Promise<boolean> =>
    (await findMonitors(machine.layout.exitsDir)).some((monitor) => monitor.id === id);
  const hasBegun = (await isMonitored()) || existsSync(monitorPidFile);
  if (!hasBegun) return false;
  for (const end = Date.now() + adoptTimeoutMs; Date.now() < end; await sleep(adoptRoundMs)) {
    const pid = Number(await readFile(pidFile, "utf8").catch(() => ""));
    if (pid > 0) {
      const role = name === holderName ? "sandbox" : needsHolder(pod) ? "member" : "alone";
      const run = await runOf({ machine, record, name, kept, role }, pid);
      await writeContainer(machine, record, name, withRun(kept, run));
      return true;
    }
    if (!(await isMonitored())) break;
  }
  throw new LostContainer("RestoreFailed", `The restore of container "${name}" was interrupted, and it may have run`);
}

/** Thrown when it is not known whether a container has run. Its image must not be restored a second time. */
class LostContainer extends StateError {}

/** Removes what was restored so far. The image is kept, so that the cause can be found. */
async function giveUp(
  { machine, recordEvent }: Effects,
  pod: Pod,
  record: PodRecord,
  { name, error }: { readonly name: string; readonly error: unknown },
): Promise<void> {
  const current = await recordOf(machine, record);
  for (const [container, kept] of Object.entries(current.containers)) {
    const id = containerId(record.uid, container, kept.attempt);
    if (kept.ended === undefined) await runtimeNamed(machine, kept.runtime).remove(id);
  }
  const reference = parseImageReference(name);
  if (reference?.type === "suspension" && current.restore?.step === "begun") {
    const key = { sandboxUid: record.keptFor ?? "", epoch: reference.epoch };
    await moveVolumesOut(machine.layout, pod, machine.suspensions.folderOf(key));
    if (!(error instanceof LostContainer)) await machine.suspensions.disclaim(key);
  }
  const failure = restoreFailure(error);
  await machine.records.write({ ...current, containers: {}, restore: { step: "failed", image: name, ...failure } });
  recordEvent(pod, { type: "Warning", reason: failure.reason, text: failure.message });
}

function restoreFailure(error: unknown): Pick<StateError, "reason" | "message"> {
  if (error instanceof StateError) return { reason: error.reason, message: error.message };
  const message = messageOf(error);
  const isOther = /version does not match across checkpoint restore/.test(message);
  return { reason: isOther ? "RuntimeVersionDiffers" : "RestoreFailed", message };
}

async function recordOf(machine: Machine, { uid }: PodRecord): Promise<PodRecord> {
  const record = await machine.records.read(uid);
  if (record === undefined) throw new Error(`The record of Pod "${uid}" is missing`);
  return record;
}
