import {
  formatSavedMessage,
  type Pod,
  type PodCondition,
  restoredCondition,
  saveableCondition,
  savedCondition,
} from "@agent-sandbox/api";
import type { NodeRules } from "./observed.ts";
import { isToBeSaved, refusalToSave } from "./plan-save.ts";
import type { PodRecord } from "./record.ts";

const own: readonly string[] = [saveableCondition, savedCondition, restoredCondition];

export function isStateCondition(type: string): boolean {
  return own.includes(type);
}

/** The conditions with which the node answers the Sandbox controller as a state driver. */
export function stateConditions(pod: Pod, record: PodRecord | undefined, rules: NodeRules): PodCondition[] {
  if (record === undefined) return [];
  return [...saveable(pod, record, rules), ...saved(record), ...restored(record)];
}

function saveable(pod: Pod, record: PodRecord, rules: NodeRules): PodCondition[] {
  if (!isToBeSaved(pod)) return [];
  const refusal = refusalToSave(pod, record, { rules });
  return [refusal === undefined ? { type: saveableCondition, status: "True" } : isFalse(saveableCondition, refusal)];
}

function saved({ save }: PodRecord): PodCondition[] {
  if (save?.step === "failed") return [isFalse(savedCondition, save)];
  if (save?.step !== "ended") return [];
  return [{ type: savedCondition, status: "True", reason: "Saved", message: formatSavedMessage(save.sizeBytes) }];
}

function restored({ restore }: PodRecord): PodCondition[] {
  if (restore?.step === "failed") return [isFalse(restoredCondition, restore)];
  if (restore?.step !== "running") return [];
  const { image, snapshot } = restore;
  const message = snapshot === undefined ? `restored from ${image}` : `restored from SandboxSnapshot "${snapshot}"`;
  return [{ type: restoredCondition, status: "True", reason: "Restored", message }];
}

function isFalse(type: string, { reason, message }: { reason: string; message: string }): PodCondition {
  return { type, status: "False", reason, message };
}
