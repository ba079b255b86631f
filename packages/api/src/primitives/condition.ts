import type { Condition } from "../shapes/condition.ts";
import { formatTime, parseTime } from "./time.ts";

/** A condition to report. Without `lastTransitionTime`, a change of the status gets the current time. */
export type ReportedCondition = Omit<Condition, "lastTransitionTime"> & { readonly lastTransitionTime?: string };

export function findCondition<C extends { type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(
  conditions: readonly { type: string; status: string }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * Returns a copy of the list in which the condition of that type is added or updated in place. `lastTransitionTime` changes
 * only when the status changes. It has a resolution of one second, and an invalid time counts as absent.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  reported: ReportedCondition,
  now: number,
): Condition[] {
  const before = findCondition(conditions, reported.type);
  const { type, status, observedGeneration, reason, message } = reported;
  const after: Condition = {
    type,
    status,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime:
      before?.status === status ? before.lastTransitionTime : transitionTime(reported.lastTransitionTime, now),
    reason,
    message,
  };
  if (before === undefined) return [...(conditions ?? []), after];
  return (conditions ?? []).map((condition) => (condition === before ? after : condition));
}

export function removeCondition(conditions: readonly Condition[] | undefined, type: string): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

function transitionTime(given: string | undefined, now: number): string {
  const time = parseTime(given ?? "");
  return formatTime("error" in time ? now : time.epochMs);
}
