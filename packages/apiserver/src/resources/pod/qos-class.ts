import { parseQuantity } from "@agent-sandbox/api";
import { isJsonObject, objectsAt, stringAt, valueAt } from "../../api-object.ts";

/** The quality of service class of a Pod, which decides the order of evictions when memory runs out. */
export function qosClass(spec: unknown): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")];
  const limits = containers.map((each) => amounts(each, "limits"));
  const requests = containers.map((each, at) => ({ ...limits[at], ...amounts(each, "requests") }));
  if (requests.every((each) => Object.keys(each).length === 0)) return "BestEffort";
  const guaranteed = limits.every((limit, at) =>
    ["cpu", "memory"].every((name) => limit[name] !== undefined && limit[name] === requests[at]?.[name]),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}

/** The CPU and memory amounts of a container that are greater than zero. */
function amounts(container: unknown, which: "limits" | "requests"): Record<string, bigint> {
  const given = valueAt(container, "resources", which);
  if (!isJsonObject(given)) return {};
  const found: Record<string, bigint> = {};
  for (const name of ["cpu", "memory"]) {
    const quantity = parseQuantity(stringAt(given, name) ?? "0");
    if (!("error" in quantity) && quantity.nanos > 0n) found[name] = quantity.nanos;
  }
  return found;
}
