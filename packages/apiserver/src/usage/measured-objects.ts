import type { Figures, UsageFigures } from "@agent-sandbox/kube";
import { type ApiObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import type { Measured } from "../resources/definition.ts";
import type { Cell } from "../table/column.ts";

/** PodMetrics of the running Pods that have figures. */
export const measuredPods: Measured = {
  of: "pods",
  describe: (pod, figures) => {
    const found = figures.pods.get(pod.metadata.uid ?? "");
    if (found === undefined || stringAt(pod, "status", "phase") !== "Running") return undefined;
    const containers = found.map(({ name, diskBytes, ...used }) => ({
      name,
      usage: { ...usageOf(used), "ephemeral-storage": kibibytes(diskBytes) },
    }));
    return { ...measured("PodMetrics", pod, figures), containers };
  },
};

/** NodeMetrics of the box's node. */
export const measuredNodes: Measured = {
  of: "nodes",
  describe: (node, figures) => ({ ...measured("NodeMetrics", node, figures), usage: usageOf(figures.node) }),
};

function measured(kind: string, { metadata }: ApiObject, { atMs, windowMs }: UsageFigures): ApiObject {
  const { name, namespace, labels } = metadata;
  const time = timestamp(atMs);
  return {
    kind,
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: time,
      ...(labels === undefined ? {} : { labels }),
    },
    timestamp: time,
    window: `${(windowMs / 1000).toFixed(3)}s`,
  };
}

const kibibytes = (bytes: number): string => `${Math.ceil(bytes / 1024)}Ki`;

/** In the units of metrics-server. */
const usageOf = ({ cpuNanoCores, memoryBytes }: Figures): JsonObject => ({
  cpu: `${cpuNanoCores}n`,
  memory: kibibytes(memoryBytes),
});

/** The sum over the containers, or the usage of a node. */
function total(object: ApiObject, resource: "cpu" | "memory"): number {
  const usages = [valueAt(object, "usage"), ...objectsAt(object, "containers").map(({ usage }) => usage)];
  return usages.reduce<number>((sum, usage) => sum + Number.parseInt(stringAt(usage, resource) ?? "0", 10), 0);
}

export const cpuCell: Cell = (object) => `${total(object, "cpu")}n`;
export const memoryCell: Cell = (object) => `${total(object, "memory")}Ki`;
export const windowCell: Cell = (object) => stringAt(object, "window") ?? "";
