/** An image as far as it matters for whether it may stay. */
export interface GarbageCandidate {
  readonly id: string;
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
  /** A Pod, or a root filesystem kept for one, is made of it. */
  readonly inUse: boolean;
}

export interface GarbageLimits {
  /** Of all images together. */
  readonly storeBytes: number;
  /** Of the disk, in per cent: above the first, images go until the second is reached. */
  readonly highPercent: number;
  readonly lowPercent: number;
  /** What was used more recently stays. */
  readonly leastAgeMs: number;
}

export interface DiskUse {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** The kubelet's own numbers, and a bound of our own for a machine whose disk is mostly for something else. */
export const garbageLimits: GarbageLimits = {
  storeBytes: 100 * 2 ** 30,
  highPercent: 85,
  lowPercent: 80,
  leastAgeMs: 120_000,
};

/** Which images to remove, the one unused for longest first. Images that share layers free less than they weigh. */
export function chooseGarbage(
  images: readonly GarbageCandidate[],
  disk: DiskUse,
  limits: GarbageLimits,
  now: number,
): string[] {
  const used = disk.totalBytes - disk.freeBytes;
  const isFull = used > (disk.totalBytes * limits.highPercent) / 100;
  const excessOfDisk = isFull ? used - (disk.totalBytes * limits.lowPercent) / 100 : 0;
  const excessOfStore = images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) - limits.storeBytes;
  let excess = Math.max(excessOfDisk, excessOfStore);
  const chosen: string[] = [];
  const oldestFirst = images.toSorted((one, other) => one.lastUsedAt - other.lastUsedAt);
  for (const { id, sizeBytes, lastUsedAt, inUse } of oldestFirst) {
    if (excess <= 0) break;
    if (inUse || now - lastUsedAt < limits.leastAgeMs) continue;
    chosen.push(id);
    excess -= sizeBytes;
  }
  return chosen;
}
