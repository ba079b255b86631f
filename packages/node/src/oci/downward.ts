import type { Container, Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { amountOf } from "./quantity.ts";

/** What a Pod may be told about itself, besides what is written in it. */
export interface DownwardFacts {
  readonly address: string;
  readonly hostAddress: string;
  /** What a container without a limit of its own could use at most. */
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

/** How to read a field of the downward API; undefined when it is none. `metadata.labels['key']` is one label. */
export function downwardField(path: string): Reader | undefined {
  const one = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path);
  if (one !== null) {
    const [, map, key = ""] = one;
    return ({ metadata }) => metadata?.[map as "labels" | "annotations"]?.[key] ?? "";
  }
  return Object.hasOwn(fields, path) ? fields[path] : undefined;
}

/** Values may hold anything, so they are quoted. */
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

/** A limit or request of a container in units of the divisor, rounded up; a limit nobody set is the machine's. */
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
  // Past the noise of dividing by fractions: 250m in units of 1m is 250.
  return String(Math.ceil(Number((value / divisor).toFixed(6))));
}
