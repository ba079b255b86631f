import { type ApiObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import type { Allocations } from "./allocations.ts";
import type { Shortage } from "./usage.ts";

/** `kubectl cordon` counts as this taint, so that a Pod can tolerate it. */
const cordoned: JsonObject = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** A Pod to be placed. */
export interface Placement {
  readonly namespace: string;
  readonly spec: JsonObject;
}

/** Why a Pod cannot be bound to the only node, in the words of kube-scheduler; `undefined` when it can be bound. */
export function placementProblem(
  { namespace, spec }: Placement,
  node: ApiObject | undefined,
  allocations: Allocations | undefined,
): string | undefined {
  const refusal = refusalOf(node, objectsAt(spec, "tolerations"));
  if (refusal !== undefined) return unavailable([refusal], true);
  if (allocations === undefined) return undefined;
  const shortages = allocations.shortages(namespace, allocations.requestsOf(spec), node);
  if (shortages.length === 0) return undefined;
  const isTooLarge = shortages.some(({ requested, capacity }) => requested > capacity);
  return unavailable(shortages.map(shortageReason), isTooLarge);
}

/** The taint, or the cordon, that keeps a Pod with these tolerations off the node. */
function refusalOf(node: ApiObject | undefined, tolerations: readonly JsonObject[]): string | undefined {
  const isCordoned = valueAt(node, "spec", "unschedulable") === true;
  const taints = objectsAt(node, "spec", "taints");
  if (!isCordoned && taints.length === 0) return undefined;
  const isTolerated = (taint: JsonObject): boolean => tolerations.some((toleration) => tolerates(toleration, taint));
  if (isCordoned && !isTolerated(cordoned)) return "node(s) were unschedulable";
  const untolerated = taints.find((taint) => taint["effect"] !== "PreferNoSchedule" && !isTolerated(taint));
  if (untolerated === undefined) return undefined;
  const { key, value = "" } = untolerated;
  return `node(s) had untolerated taint {${String(key)}: ${String(value)}}`;
}

function shortageReason({ resource, ofNamespace }: Shortage): string {
  const what = resource === "pods" ? "Too many pods" : `Insufficient ${resource}`;
  return ofNamespace ? `${what} for the namespace` : what;
}

/**
 * The message of kube-scheduler 1.36 without its part about resource claims, which the box does not have. Pods of the box have
 * no priorities, so a Pod never finds victims. If the end of other Pods would not help, it does not look for them.
 */
function unavailable(reasons: readonly string[], isFinal: boolean): string {
  const why = reasons.map((reason) => `1 ${reason}`).sort();
  const preemption = isFinal
    ? "Preemption is not helpful for scheduling"
    : "No preemption victims found for incoming pod";
  const none = "0/1 nodes are available:";
  return `${none} ${why.join(", ")}. preemption: ${none} 1 ${preemption}.`;
}

/** How the kubelet rejects a Pod that names the node itself, without a scheduler, and does not fit. */
export function rejection(shortages: readonly Shortage[]): JsonObject | undefined {
  const [first] = shortages;
  if (first === undefined) return undefined;
  const { resource, requested, used, capacity } = first;
  const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return {
    phase: "Failed",
    reason: `OutOf${resource}`,
    message: `Pod was rejected: Node didn't have enough resource: ${resource}, ${numbers}`,
  };
}

/** A toleration without an effect matches all effects. One without a key matches all taints if its operator is Exists. */
function tolerates(toleration: JsonObject, taint: JsonObject): boolean {
  const [effect = "", key = "", operator = ""] = ["effect", "key", "operator"].map((name) =>
    stringAt(toleration, name),
  );
  if (effect !== "" && effect !== taint["effect"]) return false;
  if (key === "") return operator === "Exists";
  if (key !== taint["key"]) return false;
  return operator === "Exists" || (stringAt(toleration, "value") ?? "") === (stringAt(taint, "value") ?? "");
}
