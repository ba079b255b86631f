import type { Condition } from "@agent-sandbox/api";

/** Conditions that are neither good nor bad. */
const plain: readonly string[] = ["Suspended", "Finished"];
/** Conditions that should not be true. */
const unwanted: Readonly<Record<string, "bad" | "busy">> = { Failed: "bad", PodOutdated: "busy" };

/** How a condition is shown. A condition that is not True is neutral: whether that is a failure is shown by the state of the object. */
export function toneOfCondition({
  type,
  status,
}: Pick<Condition, "type" | "status">): "good" | "bad" | "busy" | "neutral" {
  if (status !== "True" || plain.includes(type)) return "neutral";
  return Object.hasOwn(unwanted, type) ? (unwanted[type] ?? "neutral") : "good";
}
