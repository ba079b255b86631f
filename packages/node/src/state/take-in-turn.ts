import { runtimeNamed } from "../pod/machine.ts";
import { memoryOf, writableLayerOf } from "./save-pod.ts";
import { needsOf } from "./snapshot-needs.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";
import { volumesToCapture } from "./snapshot-volumes.ts";
import { type Capture, containersOf, depthOf, runtimeNameOf, takeSnapshot, toStateError } from "./take-snapshot.ts";

/**
 * Takes a snapshot of a running Sandbox when a slot for saves is free. Its needs are estimated before that: a tenant can write millions
 * of files, whose counting takes up to a minute, and the saves of others must not wait for it.
 */
export async function takeInTurn(capture: Capture): Promise<StoredSnapshot> {
  const { machine, record } = capture;
  const needs = await estimate(capture).catch((error: unknown) => {
    throw toStateError(error);
  });
  return machine.saves.run(record.namespace, () =>
    machine.standstill.run(record.uid, () => takeSnapshot(capture, needs)),
  );
}

/** With gVisor, files of volumes in memory are part of the memory of the Pod, which gVisor writes for each depth. */
async function estimate(capture: Capture): Promise<SnapshotNeeds> {
  const { machine, pod, sandbox, snapshot, record } = capture;
  // Throws if the Pod does not run or cannot be saved.
  depthOf(capture);
  const isSaved = runtimeNamed(machine, runtimeNameOf(record)).checkpoints !== undefined;
  const layers = containersOf(capture).map(({ name }) => writableLayerOf(machine, record, name));
  const volumes = volumesToCapture(pod, sandbox, record, snapshot.spec);
  const copied = volumes.filter(({ isMemory }) => !isMemory || !isSaved).map(({ path }) => path);
  const memoryBytes = isSaved ? (await memoryOf(machine, record)).bytes : 0;
  return needsOf(machine.layout.dataDir, { folders: [...layers, ...copied], memoryBytes });
}
