import { parseQuantity } from "@agent-sandbox/api";
import { isJsonObject, type JsonObject, objectsAt, valueAt } from "../api-object.ts";

/**
 * Amounts by the name of the resource, in the units of kube-scheduler: thousandths of a CPU, bytes, and whole numbers of
 * everything else. Contains only amounts above zero.
 */
export type Amounts = ReadonlyMap<string, number>;

/** The amounts in a list of resources, such as `status.allocatable` of a Node. Ignores values that are not quantities. */
export function readAmounts(list: unknown): Map<string, number> {
  const found = new Map<string, number>();
  if (!isJsonObject(list)) return found;
  for (const [name, text] of Object.entries(list)) {
    const quantity = parseQuantity(String(text));
    if ("error" in quantity || quantity.nanos <= 0n) continue;
    const unit = name === "cpu" ? 1_000_000n : 1_000_000_000n;
    found.set(name, Number((quantity.nanos + unit - 1n) / unit));
  }
  return found;
}

/**
 * The requests of a Pod, by the rule of Kubernetes: the larger of what its containers and sidecars request together and what
 * each init container needs with the sidecars before it; requests of the Pod itself replace this; then the overhead.
 */
export function podRequests(spec: JsonObject): Amounts {
  const sum = new Map<string, number>();
  for (const container of objectsAt(spec, "containers")) add(sum, requestsOf(container));
  const sidecars = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const container of objectsAt(spec, "initContainers")) {
    const own = requestsOf(container);
    const isSidecar = container["restartPolicy"] === "Always";
    if (isSidecar) {
      add(sum, own);
      add(sidecars, own);
    }
    raise(starting, isSidecar ? sidecars : add(new Map(sidecars), own));
  }
  raise(sum, starting);
  for (const [name, amount] of requestsOf(spec)) {
    if (name === "cpu" || name === "memory" || name.startsWith("hugepages-")) sum.set(name, amount);
  }
  add(sum, readAmounts(spec["overhead"]));
  // Pods are counted under this name.
  sum.delete("pods");
  return sum;
}

const requestsOf = (owner: JsonObject): Amounts => {
  const requests = valueAt(owner, "resources", "requests");
  return requests === undefined ? none : readAmounts(requests);
};

const none: Amounts = new Map();

function add(sum: Map<string, number>, more: Amounts): Map<string, number> {
  for (const [name, amount] of more) sum.set(name, (sum.get(name) ?? 0) + amount);
  return sum;
}

function raise(least: Map<string, number>, amounts: Amounts): void {
  for (const [name, amount] of amounts) least.set(name, Math.max(least.get(name) ?? 0, amount));
}
