import type { Pod } from "@agent-sandbox/api";
import type { IdRange } from "../system/user-namespace.ts";

/** The host ids of one Pod's users. */
export interface PodIds {
  /** The host id of the Pod's root. The `idsPerPod` ids from here on belong to the Pod. */
  readonly first: number;
  /** Ids above the common ones that the Pod's spec names. */
  readonly more: readonly number[];
  /** The runtime of the Pod's containers. It cannot change, because their files are mounted with these ids. */
  readonly runtime: string;
}

/** Every Pod has the ids 0 to 65535, as in Kubernetes. */
export const commonIds = 0x1_0000;
/** Room for the common ids, and for as many others. */
export const idsPerPod = 0x2_0000;
/** Above Debian's subordinate ids (600,100,000), and below 2^31, where ids become negative. */
const lowest = 0x2800_0000;
const highest = 0x7000_0000;
export const ranges: number = (highest - lowest) / idsPerPod;

/** The kernel allows 340 lines in a mapping. One is for the common ids. */
const mostMore = 256;

/** A free range. The search starts at random, so that two nodes on one machine rarely choose the same range. */
export function freeRange(taken: ReadonlySet<number>, random: () => number): number | undefined {
  const start = Math.floor(random() * ranges);
  for (let step = 0; step < ranges; step++) {
    const first = lowest + ((start + step) % ranges) * idsPerPod;
    if (!taken.has(first)) return first;
  }
  return undefined;
}

/** The ids in the Pod's spec that are not among the common ones. */
export function idsNamed({ spec }: Pod): number[] {
  const { containers = [], initContainers = [], securityContext } = spec ?? {};
  const contexts = [securityContext, ...[...containers, ...initContainers].map((one) => one.securityContext)];
  const own = contexts.flatMap((one) => [one?.runAsUser, one?.runAsGroup]);
  const named = [...own, securityContext?.fsGroup, ...(securityContext?.supplementalGroups ?? [])];
  const high = named.filter((id): id is number => id !== undefined && id >= commonIds);
  return [...new Set(high)].slice(0, mostMore);
}

/** The host id of an id inside the Pod. For an unmapped id, that of the Pod's root. */
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
