import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { KubeError } from "@agent-sandbox/kube";
import type { Machine } from "../pod/machine.ts";
import { exposition } from "./exposition.ts";
import { cadvisorFamilies, type NodeUsage, resourceFamilies, volumeFamilies } from "./families.ts";
import { type DiskUsage, type PodUsage, podUsage } from "./pod-usage.ts";
import type { CountedPod, UsageSample } from "./usage-meter.ts";

export interface NodeMetricsOptions {
  readonly machine: Machine;
  readonly disk: DiskUsage;
}

/** A sample for the figures of `metrics.k8s.io`. */
export async function usageSample({ machine, disk }: NodeMetricsOptions): Promise<UsageSample> {
  const [pods, node] = await Promise.all([allUsage({ machine, disk }), nodeUsage()]);
  return { atMs: Date.now(), node, pods: pods.map(countedPod) };
}

function countedPod({ uid, used, containers, diskBytes, main }: PodUsage): CountedPod {
  if (containers.length > 0) {
    return { uid, containers: containers.map((one) => ({ ...one.used, ...one })) };
  }
  // The containers are one process on the machine. The first one gets the figures of all.
  return { uid, containers: main === undefined ? [] : [{ ...used, ...main, diskBytes }] };
}

async function allUsage({ machine, disk }: NodeMetricsOptions): Promise<PodUsage[]> {
  const records = [...(await machine.records.list()).values()].filter((one) => one !== undefined);
  const all = await Promise.all(records.filter(({ released }) => !released).map((one) => podUsage(machine, one, disk)));
  return all.filter((one) => one !== undefined);
}

/** The resource usage of Pods, with the kubelet's metric names. It is measured when the metrics are requested. */
export async function nodeMetrics({ machine, disk }: NodeMetricsOptions, path: string): Promise<Readable> {
  const usage = (): Promise<PodUsage[]> => allUsage({ machine, disk });
  switch (path) {
    case "/metrics":
      return Readable.from([exposition(volumeFamilies(await usage()))]);
    case "/metrics/cadvisor":
      return Readable.from([exposition(cadvisorFamilies(await usage()))]);
    case "/metrics/resource":
      return Readable.from([exposition(resourceFamilies(await usage(), await nodeUsage()))]);
    default:
      throw new KubeError(
        "NotFound",
        `Cannot serve "${path}": the node has "/metrics", "/metrics/cadvisor" and "/metrics/resource"`,
      );
  }
}

/** The CPU time of user programs and the kernel, without idle and I/O wait. */
async function nodeUsage(): Promise<NodeUsage> {
  const [stat, meminfo] = await Promise.all(["/proc/stat", "/proc/meminfo"].map((path) => readFile(path, "utf8")));
  const [user = 0, nice = 0, system = 0, , , interrupt = 0, softInterrupt = 0, steal = 0] =
    /^cpu +(.*)$/m
      .exec(stat ?? "")?.[1]
      ?.split(" ")
      .map(Number) ?? [];
  const kibibytes = (name: string): number =>
    Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(meminfo ?? "")?.[1] ?? 0);
  const ticks = user + nice + system + interrupt + softInterrupt + steal;
  return {
    cpuSeconds: ticks / ticksPerSecond,
    workingSetBytes: 1024 * (kibibytes("MemTotal") - kibibytes("MemFree") - kibibytes("Inactive\\(file\\)")),
  };
}

/** USER_HZ on all supported architectures. */
const ticksPerSecond = 100;
