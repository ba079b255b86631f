import {
  isConditionTrue,
  type Pod,
  restoreAnnotation,
  type StateReason,
  saveAnnotation,
  savedCondition,
  stateReasons,
  suspendDepthAnnotation,
} from "@agent-sandbox/api";
import type { Action, Observed } from "./decide.ts";
import { runtimeOf } from "./pod-runtime.ts";
import type { PodRecord, SaveRecord } from "./record.ts";
import type { Problem } from "./status.ts";

export interface SavePlan {
  readonly actions: readonly Action[];
  /** The Pod is saved or being saved: nothing else may be done with it. */
  readonly holds: boolean;
}

const nothing: SavePlan = { actions: [], holds: false };
const waiting: SavePlan = { actions: [], holds: true };

/**
 * What is to be done about a request to save the Pod's memory. The Pod does not run, and none of its containers starts, from the
 * first step until the save is abandoned or has failed.
 */
export function planSave(pod: Pod, record: PodRecord, observed: Observed): SavePlan {
  const { save } = record;
  const isDeleted = pod.metadata?.deletionTimestamp !== undefined;
  const wanted = isDeleted ? undefined : wantedEpoch(pod);
  switch (save?.step) {
    case "saving":
      return wanted === save.epoch ? followSave(save, observed) : act({ do: "abandon-save" });
    case "saved":
      return act({ do: "end-saved" });
    case "ended":
      return isDeleted ? act({ do: "tear-down" }) : reportFirst(pod, observed);
    case "failed":
      return isDeleted || wanted === save.epoch ? nothing : act({ do: "forget-save" });
    default:
      return wanted === undefined ? nothing : beginSave(pod, record, observed, wanted);
  }
}

function followSave({ epoch }: SaveRecord, { tasks }: Observed): SavePlan {
  const task = tasks[saveTask(epoch)];
  if (task === undefined) return act({ do: "save", epoch });
  if (task.state === "running") return waiting;
  if (task.state === "done") return act({ do: "record-saved", epoch, sizeBytes: Number(task.result) });
  return act({ do: "fail-save", epoch, ...failureOf(task) });
}

/** The end of the processes takes CPU time that the report would have to wait for. */
function reportFirst({ status }: Pod, { tasks }: Observed): SavePlan {
  const isReported = isConditionTrue(status?.conditions, savedCondition);
  return isReported && tasks[killTask] === undefined ? act({ do: "kill-saved" }) : waiting;
}

/** The reason for the condition. Everything that has no reason of its own is `SaveFailed`. */
function failureOf({ reason, message }: Problem): { readonly reason: StateReason; readonly message: string } {
  if (/no space left on device|ENOSPC/i.test(message)) return { reason: "QuotaExceeded", message };
  return { reason: stateReasons.find((one) => one === reason) ?? "SaveFailed", message };
}

function beginSave(pod: Pod, record: PodRecord, observed: Observed, epoch: number): SavePlan {
  const refusal = refusalToSave(pod, record, observed);
  return act(refusal === undefined ? { do: "save", epoch } : { do: "fail-save", epoch, ...refusal });
}

/** Why this Pod can never be saved, or undefined. */
export function refusalToSave(
  pod: Pod,
  record: Pick<PodRecord, "containers" | "ids" | "keptFor">,
  { rules }: Pick<Observed, "rules">,
): { readonly reason: StateReason; readonly message: string } | undefined {
  const runtime = runtimeOf(pod, record, rules.defaultRuntime);
  if (!rules.canSave.includes(runtime)) {
    return { reason: "RuntimeCannotSave", message: `Runtime "${runtime}" cannot save the memory of a Pod` };
  }
  // Memory without the files that it was in use with cannot be restored.
  if ((record.keptFor ?? "") !== "") return undefined;
  return { reason: "SaveFailed", message: "No Sandbox controls this Pod, or the Pod's root filesystem is not kept" };
}

function act(action: Action): SavePlan {
  return { actions: [action], holds: true };
}

/** The epoch that the controller asks to save. Everybody who may update Pods can write the annotation. */
function wantedEpoch({ metadata }: Pod): number | undefined {
  const text = metadata?.annotations?.[saveAnnotation] ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** After a restart of the node it begins again, which does no harm. */
export const killTask = "kill";

export function saveTask(epoch: number): string {
  return `save:${epoch}`;
}

/** Whether the memory of the Pod is to be kept when it is suspended. */
export function isToBeSaved({ metadata }: Pod): boolean {
  return metadata?.annotations?.[suspendDepthAnnotation] === "Memory";
}

/** The image that the Pod continues from, or undefined for a Pod that starts. */
export function wantedImage({ metadata }: Pod): string | undefined {
  return metadata?.annotations?.[restoreAnnotation];
}

/** Whether the Pod is being saved or is saved: it does not serve. */
export function isBeingSaved(record: Pick<PodRecord, "save"> | undefined): boolean {
  return record?.save !== undefined && record.save.step !== "failed";
}
