import type { Condition, ConditionStatus } from "../shapes/condition.ts";

// The bounds of metav1.Condition. The API server counts code points; UTF-16 units are never fewer.
const maxReasonLength = 1024;
const maxMessageLength = 32768;

/** A condition of another kind of object, which may not follow the schema of our conditions. */
export interface ForeignCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * Adapts a condition of a Pod to our own schema. Otherwise the API server would reject every status update that contains
 * an invalid reason. `fallbackReason` is used when no part of the reason is valid.
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
  return status === "True" || status === "False" ? status : "Unknown";
}

/** A valid reason begins with a letter, continues with letters, digits and `_,:`, and does not end in `,` or `:`. */
export function adaptReason(reason: string | undefined, fallback: string): string {
  const start = (reason ?? "").search(/[A-Za-z]/);
  if (start < 0) return fallback;
  const kept = (reason ?? "").slice(start, start + maxReasonLength).replace(/[^A-Za-z0-9_]+$/, "");
  return kept.replace(/[^A-Za-z0-9_,:]/g, "_");
}

/** Cuts a message to the maximum length of the schema. */
export function adaptMessage(message: string | undefined): string {
  // The cut may split a surrogate pair. The remaining half becomes U+FFFD, as in UTF-8.
  return (message ?? "").slice(0, maxMessageLength).toWellFormed();
}
