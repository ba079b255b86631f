import type { DiskReserve } from "../image/disk-room.ts";
import type { Problem } from "./status.ts";

export type Shortage = "bytes" | "inodes";

/** The disk usage of a Pod. `used` is undefined when counting timed out. */
export interface PodDisk {
  readonly uid: string;
  readonly used: number | undefined;
}

const resources: Readonly<Record<Shortage, string>> = { bytes: "ephemeral-storage", inodes: "inodes" };

/**
 * The Pod to evict when the free space falls below the reserve: the one that uses most. A Pod that could not be counted is
 * chosen first. Returns undefined when the largest uses less than a tenth of the reserve, because evicting it would not help.
 */
export function choosePod(pods: readonly PodDisk[], short: Shortage, reserve: DiskReserve): PodDisk | undefined {
  const least = (short === "bytes" ? reserve.diskFreeBytes : reserve.inodesFree) / 10;
  const amount = ({ used }: PodDisk): number => used ?? Number.POSITIVE_INFINITY;
  const [most] = pods.toSorted((one, other) => amount(other) - amount(one));
  return most !== undefined && amount(most) >= least ? most : undefined;
}

/** The message has the kubelet's wording. */
export function evictionFor(short: Shortage, { used }: PodDisk): Problem {
  const has = used === undefined ? "cannot be counted" : `was using ${used}`;
  return { reason: "Evicted", message: `The node was low on resource: ${resources[short]}. The Pod ${has}. ` };
}

/** The waiting reason of Pods that are not started during a shortage. */
export function waitFor(short: Shortage): Problem {
  const message = `The node had condition: [DiskPressure]. It is low on ${resources[short]}, and the Pod waits. `;
  return { reason: "ContainerCreating", message };
}
