import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Pod, parseImageReference } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { containerId } from "../layout.ts";
import { pathsOf, type Restoration, runOf, withRun, writeContainer } from "../pod/create-container.ts";
import type { Effects } from "../pod/effects.ts";
import { runHolder } from "../pod/holder.ts";
import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { holderName, membersOf, needsHolder } from "../pod/members.ts";
import { wantedImage } from "../pod/plan-save.ts";
import { isLive } from "../pod/plan-stop.ts";
import type { ContainerRecord, PodRecord } from "../pod/record.ts";
import { startContainer } from "../pod/start-container.ts";
import { findMonitors } from "../runtime/monitor.ts";
import { moveVolumesOut } from "./empty-dirs.ts";
import { later, openImage, orderOf, type UsableImage } from "./open-image.ts";
import { type LifecycleEvent, runHooks } from "./sandboxd-lifecycle.ts";
import { StateError } from "./state-error.ts";
import { containersToStop, continueProcesses, stopProcesses } from "./stop-processes.ts";

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
  let claiming = Promise.resolve();
  try {
    const image = await openImage(effects, pod, record, name);
    decrypted.use(image.checkpoint);
    const isInterrupted = record.restore?.step === "begun";
    // Before the first record: as long as the restore has not begun, nothing has run that could have changed the files.
    if (!isInterrupted) await image.prepare?.();
    if (!isInterrupted) await beginRestore(effects, pod, record, image);
    claiming = later(image.claim());
    if (isInterrupted || image.hasVolumes) await claiming;
    const ready = later(Promise.all([image.verified, claiming]));
    for (const container of orderOf(pod, image.meta)) {
      const current = await recordOf(machine, record);
      if (isLive(current.containers[container])) continue;
      if (isInterrupted && (await adopt(effects, pod, current, container))) continue;
      await restoreContainer(effects, pod, current, { container, image, again: isInterrupted, ready });
    }
    await machine.network.setLink(record.address, "up");
    if (orderOf(pod, image.meta).length > 0) await tellInside(effects, pod, record, image);
    const restored = await recordOf(machine, record);
    const { snapshot } = image;
    const restore = { step: "running", image: name, ...(snapshot !== undefined && { snapshot }) } as const;
    await machine.records.write({ ...restored, restore });
    await image.used?.();
  } catch (error) {
    await claiming.catch(() => undefined);
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
  const tell = (event: LifecycleEvent): Promise<void> =>
    runHooks({ client, pod, address: record.address, event }, recordEvent);
  if (image.snapshot === undefined) return tell("after-resume");
  const others = containersToStop(machine, pod, await recordOf(machine, record));
  // A Sandbox that was suspended when the snapshot was taken had been saved while its processes ran. They are stopped now.
  if (image.meta.isStopped !== true) await Promise.all([tell("before-snapshot"), stopProcesses(machine, others)]);
  await tell("after-fork");
  await continueProcesses(machine, others);
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

async function restoreContainer(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  {
    container,
    image,
    ...how
  }: { readonly container: string; readonly image: UsableImage } & Omit<Restoration, "folder">,
): Promise<void> {
  const saved = image.meta.containers[container];
  const attempt = saved?.attempt ?? 0;
  const restoration = { folder: image.checkpoint.folder, ...how };
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
    if (!(error instanceof LostContainer)) await machine.suspensions.disclaim(key, record.uid);
  }
  const isDeleted = reference?.type === "snapshot" && (await machine.snapshots.read(reference.uid)) === undefined;
  const failure = restoreFailure(isDeleted ? deletedMeanwhile(reference.uid) : error);
  await machine.records.write({ ...current, containers: {}, restore: { step: "failed", image: name, ...failure } });
  recordEvent(pod, { type: "Warning", reason: failure.reason, text: failure.message });
}

/** Whatever failed, it failed because the files were removed. */
function deletedMeanwhile(uid: string): StateError {
  return new StateError("SnapshotNotFound", `The snapshot "${uid}" was deleted while the Pod was restored from it`);
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
