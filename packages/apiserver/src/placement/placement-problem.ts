import { type ApiObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";

/** `kubectl cordon` counts as this taint, so that a Pod can tolerate it. */
const cordoned: JsonObject = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Why a Pod cannot be bound to the only node, in the words of kube-scheduler; `undefined` when it can be bound. */
export function placementProblem(spec: JsonObject, node: ApiObject | undefined): string | undefined {
  const isCordoned = valueAt(node, "spec", "unschedulable") === true;
  const taints = objectsAt(node, "spec", "taints");
  if (!isCordoned && taints.length === 0) return undefined;
  const tolerations = objectsAt(spec, "tolerations");
  const isTolerated = (taint: JsonObject): boolean => tolerations.some((toleration) => tolerates(toleration, taint));
  if (isCordoned && !isTolerated(cordoned)) return "0/1 nodes are available: 1 node(s) were unschedulable.";
  const untolerated = taints.find((taint) => taint["effect"] !== "PreferNoSchedule" && !isTolerated(taint));
  if (untolerated === undefined) return undefined;
  const { key, value = "" } = untolerated;
  return `0/1 nodes are available: 1 node(s) had untolerated taint {${String(key)}: ${String(value)}}.`;
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
