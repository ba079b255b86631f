import { type ApiObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";

/** What `kubectl cordon` comes to for a Pod that says what it can bear. */
const cordoned: JsonObject = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Why a Pod is not put on the only node now, in a scheduler's words; `undefined` when nothing is in the way. */
export function placementProblem(spec: JsonObject, node: ApiObject | undefined): string | undefined {
  const isCordoned = valueAt(node, "spec", "unschedulable") === true;
  const taints = objectsAt(node, "spec", "taints");
  if (!isCordoned && taints.length === 0) return undefined;
  const tolerations = objectsAt(spec, "tolerations");
  const bears = (taint: JsonObject): boolean => tolerations.some((toleration) => tolerates(toleration, taint));
  if (isCordoned && !bears(cordoned)) return "0/1 nodes are available: 1 node(s) were unschedulable.";
  const unborne = taints.find((taint) => taint["effect"] !== "PreferNoSchedule" && !bears(taint));
  if (unborne === undefined) return undefined;
  const { key, value = "" } = unborne;
  return `0/1 nodes are available: 1 node(s) had untolerated taint {${String(key)}: ${String(value)}}.`;
}

/** A toleration without an effect is for all of them, and one without a key for everything. */
function tolerates(toleration: JsonObject, taint: JsonObject): boolean {
  const [effect = "", key = "", operator = ""] = ["effect", "key", "operator"].map((name) =>
    stringAt(toleration, name),
  );
  if (effect !== "" && effect !== taint["effect"]) return false;
  if (key === "") return operator === "Exists";
  if (key !== taint["key"]) return false;
  return operator === "Exists" || (stringAt(toleration, "value") ?? "") === (stringAt(taint, "value") ?? "");
}
