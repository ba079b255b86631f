import type { Container, Pod } from "@agent-sandbox/api";
import { amountOf } from "./quantity.ts";
import type { OciResources } from "./spec.ts";

/** The limits of a container whose Pod names none. */
export interface ResourceDefaults {
  readonly memoryBytes: number;
  readonly pids: number;
  /** What all of a Pod may have on the disk: what its containers write, their logs, and its emptyDirs. */
  readonly diskBytes: number;
}

export const resourceDefaults: ResourceDefaults = { memoryBytes: 2 * 2 ** 30, pids: 1024, diskBytes: 20 * 2 ** 30 };

const cpuPeriodMicroseconds = 100_000;
/** The kernel refuses a quota below one millisecond. */
const leastQuotaMicroseconds = 1000;
const leastShares = 2;
const sharesPerCpu = 1024;

/**
 * Every container has a memory and a process limit. Without swap of its own when the kernel can say so, a memory limit
 * means what it says. A container that requests no CPU gets the least share, but the whole machine while it is idle.
 */
export function resourcesFor(container: Container, defaults: ResourceDefaults, swapAccounting: boolean): OciResources {
  const { limits = {}, requests = {} } = container.resources ?? {};
  const memory = quantity(limits["memory"]) ?? defaults.memoryBytes;
  const cpuLimit = quantity(limits["cpu"]);
  const cpuRequest = quantity(requests["cpu"]) ?? cpuLimit ?? 0;
  return {
    devices: [{ allow: false, access: "rwm" }],
    memory: { limit: Math.floor(memory), ...(swapAccounting && { swap: Math.floor(memory) }) },
    cpu: {
      shares: Math.max(leastShares, Math.floor(cpuRequest * sharesPerCpu)),
      ...(cpuLimit !== undefined && {
        quota: Math.max(leastQuotaMicroseconds, Math.floor(cpuLimit * cpuPeriodMicroseconds)),
        period: cpuPeriodMicroseconds,
      }),
    },
    pids: { limit: defaults.pids },
  };
}

/** What all containers that live at the same time may use together. */
export function podResources(pod: Pod, defaults: ResourceDefaults, swapAccounting: boolean): OciResources {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const [all, before] = [[...sidecars, ...containers], initContainers.filter((one) => !sidecars.includes(one))];
  const parts = all.map((container) => resourcesFor(container, defaults, swapAccounting));
  const firsts = before.map((container) => resourcesFor(container, defaults, swapAccounting));
  const sum = (pick: (one: OciResources) => number): number => parts.reduce((total, one) => total + pick(one), 0);
  const memory = Math.max(
    sum((one) => one.memory.limit),
    ...firsts.map((one) => one.memory.limit),
  );
  const quota = sum(({ cpu }) => cpu.quota ?? Infinity);
  return {
    devices: [{ allow: false, access: "rwm" }],
    memory: { limit: memory, ...(swapAccounting && { swap: memory }) },
    cpu: {
      shares: Math.max(
        leastShares,
        sum(({ cpu }) => cpu.shares),
      ),
      ...(Number.isFinite(quota) && quota > 0 && { quota, period: cpuPeriodMicroseconds }),
    },
    pids: {
      limit: Math.max(
        defaults.pids,
        sum(({ pids }) => pids.limit),
      ),
    },
  };
}

function quantity(text: string | undefined): number | undefined {
  return text === undefined ? undefined : amountOf(text);
}
