import { isJsonObject, valueAt } from "../../api-object.ts";
import { parseQuantity } from "./quantity.ts";

/** Kubernetes' quality of service class: who is evicted first when memory runs out. */
export function qosClass(spec: unknown): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...listAt(spec, "containers"), ...listAt(spec, "initContainers")];
  const limits = containers.map((each) => amounts(each, "limits"));
  const requests = containers.map((each, at) => ({ ...limits[at], ...amounts(each, "requests") }));
  if (requests.every((each) => Object.keys(each).length === 0)) return "BestEffort";
  const guaranteed = limits.every((limit, at) =>
    ["cpu", "memory"].every((name) => limit[name] !== undefined && limit[name] === requests[at]?.[name]),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}

function listAt(spec: unknown, key: string): unknown[] {
  const list = valueAt(spec, key);
  return Array.isArray(list) ? list : [];
}

/** What a container asks of cpu and memory, leaving out nothing and zero. */
function amounts(container: unknown, which: "limits" | "requests"): Record<string, number> {
  const given = valueAt(container, "resources", which);
  if (!isJsonObject(given)) return {};
  const found: Record<string, number> = {};
  for (const name of ["cpu", "memory"]) {
    const amount = parseQuantity(given[name]);
    if (amount !== undefined && amount > 0) found[name] = amount;
  }
  return found;
}
