import type { Container, Pod } from "@agent-sandbox/api";
import { amountOf } from "./quantity.ts";
import type { OciResources } from "./spec.ts";

/** The limits of containers that have none. */
export interface ResourceDefaults {
  /** Default: 2 GiB. */
  readonly memoryBytes: number;
  /** Processes and threads. Default: 1024. */
  readonly pids: number;
  /** The disk limit of a Pod: its containers' layers, their logs and its emptyDir volumes. Default: 20 GiB. */
  readonly diskBytes: number;
}

/** The upper bounds for every container. */
export interface ResourceBounds {
  /** Whether swap can be limited. */
  readonly swapAccounting: boolean;
  /** The limit of all sandboxes together. A container with a higher limit gets this one. */
  readonly memoryBytes: number;
  readonly pids: number;
}

export const resourceDefaults: ResourceDefaults = { memoryBytes: 2 * 2 ** 30, pids: 1024, diskBytes: 20 * 2 ** 30 };

const cpuPeriodMicroseconds = 100_000;
/** The kernel refuses a quota below one millisecond. */
const leastQuotaMicroseconds = 1000;
const leastShares = 2;
const sharesPerCpu = 1024;

/**
 * Every container has a memory and a process limit, and no swap where the kernel can limit it. A container without a CPU
 * request gets the minimum weight, but may use all idle CPUs.
 */
export function resourcesFor(
  container: Container,
  defaults: ResourceDefaults,
  { swapAccounting, ...most }: ResourceBounds,
): OciResources {
  const { limits = {}, requests = {} } = container.resources ?? {};
  const memory = memoryOf(limits["memory"], defaults, most);
  const cpuLimit = quantity(limits["cpu"]);
  const cpuRequest = quantity(requests["cpu"]) ?? cpuLimit ?? 0;
  return {
    devices: [{ allow: false, access: "rwm" }],
    memory: { limit: memory, ...(swapAccounting && { swap: memory }) },
    cpu: {
      shares: Math.max(leastShares, Math.floor(cpuRequest * sharesPerCpu)),
      ...(cpuLimit !== undefined && {
        quota: Math.max(leastQuotaMicroseconds, Math.floor(cpuLimit * cpuPeriodMicroseconds)),
        period: cpuPeriodMicroseconds,
      }),
    },
    pids: { limit: Math.min(most.pids, defaults.pids) },
  };
}

/** The limits of all containers that run at the same time. */
export function podResources(pod: Pod, defaults: ResourceDefaults, bounds: ResourceBounds): OciResources {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const [all, before] = [[...sidecars, ...containers], initContainers.filter((one) => !sidecars.includes(one))];
  const parts = all.map((container) => resourcesFor(container, defaults, bounds));
  const firsts = before.map((container) => resourcesFor(container, defaults, bounds));
  const sum = (pick: (one: OciResources) => number): number => parts.reduce((total, one) => total + pick(one), 0);
  const wanted = Math.max(
    sum((one) => one.memory.limit),
    ...firsts.map((one) => one.memory.limit),
  );
  const memory = Math.min(bounds.memoryBytes, wanted);
  const pids = sum((one) => one.pids.limit);
  const quota = sum(({ cpu }) => cpu.quota ?? Infinity);
  return {
    devices: [{ allow: false, access: "rwm" }],
    memory: { limit: memory, ...(bounds.swapAccounting && { swap: memory }) },
    cpu: {
      shares: Math.max(
        leastShares,
        sum(({ cpu }) => cpu.shares),
      ),
      ...(Number.isFinite(quota) && quota > 0 && { quota, period: cpuPeriodMicroseconds }),
    },
    pids: { limit: Math.min(bounds.pids, Math.max(defaults.pids, pids)) },
  };
}

/** Runtimes take a limit of 0 as unlimited, so it is replaced by the default. */
function memoryOf(
  text: string | undefined,
  defaults: ResourceDefaults,
  most: { readonly memoryBytes: number },
): number {
  const wanted = Math.floor(Math.min(most.memoryBytes, quantity(text) ?? defaults.memoryBytes));
  return wanted > 0 ? wanted : Math.min(most.memoryBytes, defaults.memoryBytes);
}

function quantity(text: string | undefined): number | undefined {
  return text === undefined ? undefined : amountOf(text);
}
