import type { Pod, StateReason } from "@agent-sandbox/api";
import { endSavedPod, killSavedPod } from "../state/end-saved-pod.ts";
import { runHooks } from "../state/sandboxd-lifecycle.ts";
import { savePod, undoSave } from "../state/save-pod.ts";
import type { Effects } from "./effects.ts";
import type { Machine } from "./machine.ts";
import { killTask, saveTask } from "./plan-save.ts";
import type { PodRecord } from "./record.ts";

/** Records that the Pod is being saved, and begins to write its image in the background. */
export async function beginSave(effects: Effects, pod: Pod, record: PodRecord, epoch: number): Promise<void> {
  const again = record.save?.step === "saving";
  if (!again) await effects.machine.records.write({ ...record, save: { step: "saving", epoch } });
  await effects.tasks.begin(record.uid, saveTask(epoch), async (signal) =>
    String(await savePod(effects, { pod, record, epoch, again, signal })),
  );
}

/** Records that the image is complete, and ends the Pod. */
export async function recordSaved(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  { epoch, sizeBytes }: { readonly epoch: number; readonly sizeBytes: number },
): Promise<void> {
  await endSavedPod(effects, pod, { record, epoch, sizeBytes });
  effects.tasks.forget(record.uid, saveTask(epoch));
}

/** Finishes what an earlier process of the node has recorded. */
export async function endSaved(effects: Effects, pod: Pod, record: PodRecord): Promise<void> {
  const { save } = record;
  if (save?.step !== "saved") return;
  await endSavedPod(effects, pod, { record, epoch: save.epoch, sizeBytes: save.sizeBytes });
}

/** Begins to kill the processes of an ended Pod. */
export function beginKill({ machine, tasks }: Effects, record: PodRecord): void {
  tasks.start(record.uid, killTask, (signal) => killSavedPod(machine, record, signal));
}

/** Continues a Pod that could not be saved. */
export async function failSave(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  failure: { readonly epoch: number; readonly reason: StateReason; readonly message: string },
): Promise<void> {
  const { machine, tasks, recordEvent } = effects;
  const { epoch, reason, message } = failure;
  await undo(effects, pod, record, epoch);
  await machine.records.write({ ...record, save: { step: "failed", epoch, reason, message } });
  tasks.forget(record.uid, saveTask(epoch));
  recordEvent(pod, { type: "Warning", reason, text: message });
}

/** Continues a Pod whose save is no longer wanted. */
export async function abandonSave(effects: Effects, pod: Pod, record: PodRecord): Promise<void> {
  const { machine, tasks } = effects;
  const epoch = record.save?.epoch ?? 0;
  await tasks.end(record.uid, saveTask(epoch));
  await undo(effects, pod, record, epoch);
  await forgetSave(machine, record);
}

/** Continues a Pod, and lets the sandbox undo what its hook `before-suspend` did. sandboxd knows whether that hook has run. */
async function undo(effects: Effects, pod: Pod, record: PodRecord, epoch: number): Promise<void> {
  const { machine, client, recordEvent } = effects;
  const call = { client, pod, address: record.address, event: "after-resume" } as const;
  // A snapshot that is being taken of the Pod has paused it, and continues it.
  await machine.standstill.run(record.uid, async () => {
    await undoSave(machine, record, epoch);
    if (pod.metadata?.deletionTimestamp === undefined) await runHooks(call, recordEvent);
  });
}

export async function forgetSave(machine: Machine, record: PodRecord): Promise<void> {
  const { save: _save, ...rest } = record;
  await machine.records.write(rest);
}
