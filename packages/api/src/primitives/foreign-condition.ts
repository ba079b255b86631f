import { type Condition, type ConditionStatus, conditionStatuses } from "../shapes/condition.ts";

// The bounds of metav1.Condition. The API server counts code points; UTF-16 units are never fewer.
const maxReasonLength = 1024;
const maxMessageLength = 32768;

/** A condition of another kind of object: the schema of ours need not hold. */
export interface ForeignCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * Makes a condition copied from a Pod satisfy our own schema, whatever the writer put there: one bad reason would
 * otherwise have every status write refused. `fallbackReason` stands in when nothing of the reason can be kept.
 */
export function adaptCondition(
  foreign: ForeignCondition,
  fallbackReason: string,
): Omit<Condition, "lastTransitionTime" | "observedGeneration"> {
  return {
    type: foreign.type,
    status: adaptStatus(foreign.status),
    reason: adaptReason(foreign.reason, fallbackReason),
    message: adaptMessage(foreign.message),
  };
}

function adaptStatus(status: string): ConditionStatus {
  return conditionStatuses.find((known) => known === status) ?? "Unknown";
}

/** Begins with a letter, then letters, digits and `_,:`, and does not end in a comma or a colon. */
export function adaptReason(reason: string | undefined, fallback: string): string {
  const start = (reason ?? "").search(/[A-Za-z]/);
  if (start < 0) return fallback;
  const kept = (reason ?? "").slice(start, start + maxReasonLength).replace(/[^A-Za-z0-9_]+$/, "");
  return kept.replace(/[^A-Za-z0-9_,:]/g, "_");
}

/** Cuts a message to the longest that the schema takes. */
export function adaptMessage(message: string | undefined): string {
  // Half of a surrogate pair at the cut is no character: it becomes U+FFFD, as it would on the wire.
  return (message ?? "").slice(0, maxMessageLength).toWellFormed();
}
