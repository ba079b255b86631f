import type { Pod } from "../kubernetes.ts";
import { findCondition, isConditionTrue } from "../primitives/condition.ts";
import {
  formatImageReference,
  restoreAnnotation,
  restoredCondition,
  saveAnnotation,
  savedCondition,
} from "./driver.ts";

/**
 * Whether the driver was asked to save the Pod and has not refused. Its processes are about to stop, or have stopped: it gets
 * no traffic, and its end is not a failure.
 */
export function isBeingSaved({ metadata, status }: Pod): boolean {
  const isAsked = metadata?.annotations?.[saveAnnotation] !== undefined;
  return isAsked && findCondition(status?.conditions, savedCondition)?.status !== "False";
}

/** The epoch whose image contains all processes of the Pod; undefined: they were not saved. */
export function savedEpoch({ metadata, status }: Pod): number | undefined {
  const asked = metadata?.annotations?.[saveAnnotation] ?? "";
  return /^\d{1,15}$/.test(asked) && isConditionTrue(status?.conditions, savedCondition) ? Number(asked) : undefined;
}

/**
 * Whether the memory that was saved with this epoch continues in the Pod. Undefined: the driver has not finished restoring it.
 * A Pod that starts from its files, or from another image, does not continue it.
 */
export function continuesEpoch({ metadata, status }: Pod, epoch: number): boolean | undefined {
  const wanted = formatImageReference({ type: "suspension", epoch });
  if (metadata?.annotations?.[restoreAnnotation] !== wanted) return false;
  const restored = findCondition(status?.conditions, restoredCondition)?.status;
  return restored === "True" ? true : restored === "False" ? false : undefined;
}
