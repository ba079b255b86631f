import type { Container, Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { amountOf } from "./quantity.ts";

/** Values of the downward API that are not part of the Pod's spec and metadata. */
export interface DownwardFacts {
  readonly address: string;
  readonly hostAddress: string;
  /** The default for a container without a limit. */
  readonly node: NodeCapacity;
}

export interface NodeCapacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

type Reader = (pod: Pod, facts: DownwardFacts) => string;

const fields: Readonly<Record<string, Reader>> = {
  "metadata.name": (pod) => pod.metadata?.name ?? "",
  "metadata.namespace": (pod) => pod.metadata?.namespace ?? "",
  "metadata.uid": (pod) => pod.metadata?.uid ?? "",
  "metadata.labels": (pod) => lines(pod.metadata?.labels),
  "metadata.annotations": (pod) => lines(pod.metadata?.annotations),
  "spec.nodeName": (pod) => pod.spec?.nodeName ?? "",
  "spec.serviceAccountName": (pod) => pod.spec?.serviceAccountName ?? "",
  "status.hostIP": (_, { hostAddress }) => hostAddress,
  "status.hostIPs": (_, { hostAddress }) => hostAddress,
  "status.podIP": (_, { address }) => address,
  "status.podIPs": (_, { address }) => address,
};

/** The reader of a field of the downward API, such as `metadata.labels['key']`; undefined for other fields. */
export function downwardField(path: string): Reader | undefined {
  const one = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path);
  if (one !== null) {
    const [, map, key = ""] = one;
    return ({ metadata }) => metadata?.[map as "labels" | "annotations"]?.[key] ?? "";
  }
  return Object.hasOwn(fields, path) ? fields[path] : undefined;
}

/** One quoted `key="value"` per line, as the kubelet writes it. */
function lines(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
}

export interface ResourceRef {
  readonly resource: string;
  readonly divisor?: string;
}

/** A limit or request of a container in units of the divisor, rounded up. A missing limit is the machine's capacity. */
export function resourceField(
  wanted: ResourceRef | undefined,
  container: Container | undefined,
  { node }: DownwardFacts,
): string {
  const [list = "", resource = ""] = wanted?.resource?.split(".") ?? [];
  const capacity: Readonly<Record<string, number>> = {
    cpu: node.cpus,
    memory: node.memoryBytes,
    "ephemeral-storage": node.diskBytes,
  };
  const machine = Object.hasOwn(capacity, resource) ? capacity[resource] : undefined;
  if (machine === undefined || (list !== "limits" && list !== "requests") || container === undefined) {
    throw new NodeError("CreateContainerConfigError", `unsupported container resource: ${wanted?.resource}`);
  }
  const { limits, requests } = container.resources ?? {};
  const written = list === "limits" ? limits?.[resource] : (requests?.[resource] ?? limits?.[resource]);
  const fallback = list === "limits" ? machine : 0;
  const value = written === undefined ? fallback : (amountOf(written) ?? fallback);
  const divisor = amountOf(wanted?.divisor ?? "1") || 1;
  // Round off the floating-point error of the division: 250m in units of 1m is 250.
  return String(Math.ceil(Number((value / divisor).toFixed(6))));
}
