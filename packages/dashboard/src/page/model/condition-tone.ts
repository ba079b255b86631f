import type { Condition } from "@agent-sandbox/api";

/** Conditions that are neither good nor bad: they say what is the case. */
const plain: readonly string[] = ["Suspended", "Finished"];
/** Conditions that should not be true. */
const unwanted: Readonly<Record<string, "bad" | "busy">> = { Failed: "bad", PodOutdated: "busy" };

/** How the status of a condition looks. Not being ready is not a failure: the state of the object says whether it is one. */
export function toneOfCondition({
  type,
  status,
}: Pick<Condition, "type" | "status">): "good" | "bad" | "busy" | "neutral" {
  if (status !== "True" || plain.includes(type)) return "neutral";
  return Object.hasOwn(unwanted, type) ? (unwanted[type] ?? "neutral") : "good";
}
