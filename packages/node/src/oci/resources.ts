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

/** What holds for every container, whatever its Pod asks for. */
export interface ResourceBounds {
  /** Whether a limit on swap can be set. */
  readonly swapAccounting: boolean;
  /** A container that asks for more gets this much: all sandboxes together have no more. */
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
 * Every container has a memory and a process limit. Without swap of its own when the kernel can say so, a memory limit
 * means what it says. A container that requests no CPU gets the least share, but the whole machine while it is idle.
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

/** What all containers that live at the same time may use together. */
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

/** A limit of 0 means "no limit" to the runtimes: such a container gets the default. */
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
