import type { Pod } from "@agent-sandbox/api";
import type { IdRange } from "../system/user-namespace.ts";

/** The ids of the machine that stand for the users of one Pod. */
export interface PodIds {
  /** The machine's id of the Pod's root. The ids after it are the Pod's as well. */
  readonly first: number;
  /** Ids of the Pod above those every Pod has, because it names them. */
  readonly more: readonly number[];
  /** The runtime that the Pod's containers stay with: what they wrote is mounted with these ids. */
  readonly runtime: string;
}

/** What images and programs use: 0 to 65535, as in Kubernetes. */
export const commonIds = 0x1_0000;
/** Room for the common ids, and for as many that the Pod names. */
export const idsPerPod = 0x2_0000;
/** Above what Debian gives out as subordinate ids (600,100,000), below what the kernel takes for negative. */
const lowest = 0x2800_0000;
const highest = 0x7000_0000;
export const ranges: number = (highest - lowest) / idsPerPod;

/** The kernel takes 340 lines; one is for the common ids. */
const mostMore = 256;

/** A range that nobody has; chosen by chance, so that two nodes of one machine rarely choose the same. */
export function freeRange(taken: ReadonlySet<number>, random: () => number): number | undefined {
  const start = Math.floor(random() * ranges);
  for (let step = 0; step < ranges; step++) {
    const first = lowest + ((start + step) % ranges) * idsPerPod;
    if (!taken.has(first)) return first;
  }
  return undefined;
}

/** Ids that the Pod names and that are not among the common ones. */
export function idsNamed({ spec }: Pod): number[] {
  const { containers = [], initContainers = [], securityContext } = spec ?? {};
  const contexts = [securityContext, ...[...containers, ...initContainers].map((one) => one.securityContext)];
  const own = contexts.flatMap((one) => [one?.runAsUser, one?.runAsGroup]);
  const named = [...own, securityContext?.fsGroup, ...(securityContext?.supplementalGroups ?? [])];
  const high = named.filter((id): id is number => id !== undefined && id >= commonIds);
  return [...new Set(high)].slice(0, mostMore);
}

/** The machine's id that stands for one of the Pod's; its root's for one it does not have. */
export function machineId(ids: PodIds, inside: number): number {
  const range = mappingOf(ids).find((one) => inside >= one.inside && inside < one.inside + one.count);
  return range === undefined ? ids.first : range.outside + (inside - range.inside);
}

export function mappingOf({ first, more }: Omit<PodIds, "runtime">): IdRange[] {
  return [
    { inside: 0, outside: first, count: commonIds },
    ...more.map((inside, index) => ({ inside, outside: first + commonIds + index, count: 1 })),
  ];
}
