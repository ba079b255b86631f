import type { DiskReserve } from "../image/disk-room.ts";
import type { Problem } from "./status.ts";

export type Shortage = "bytes" | "inodes";

/** What a Pod has on the disk. Undefined when counting it takes too long. */
export interface PodDisk {
  readonly uid: string;
  readonly used: number | undefined;
}

const resources: Readonly<Record<Shortage, string>> = { bytes: "ephemeral-storage", inodes: "inodes" };

/**
 * The Pod to evict when the disk is down to its reserve: the one that has most, and before all others one that cannot be
 * counted. One that has less than a tenth of the reserve would not help, so then there is none.
 */
export function choosePod(pods: readonly PodDisk[], short: Shortage, reserve: DiskReserve): PodDisk | undefined {
  const least = (short === "bytes" ? reserve.diskFreeBytes : reserve.inodesFree) / 10;
  const amount = ({ used }: PodDisk): number => used ?? Number.POSITIVE_INFINITY;
  const [most] = pods.toSorted((one, other) => amount(other) - amount(one));
  return most !== undefined && amount(most) >= least ? most : undefined;
}

/** In the kubelet's words. */
export function evictionFor(short: Shortage, { used }: PodDisk): Problem {
  const has = used === undefined ? "cannot be counted" : `was using ${used}`;
  return { reason: "Evicted", message: `The node was low on resource: ${resources[short]}. The Pod ${has}. ` };
}

/** Why a new Pod has to wait. */
export function waitFor(short: Shortage): Problem {
  const message = `The node had condition: [DiskPressure]. It is low on ${resources[short]}, and the Pod waits. `;
  return { reason: "ContainerCreating", message };
}
