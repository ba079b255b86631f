/** The facts about an image that decide whether it is removed. */
export interface GarbageCandidate {
  readonly id: string;
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
  /** A Pod, or a root filesystem kept for a Sandbox, uses it. */
  readonly inUse: boolean;
}

export interface GarbageLimits {
  /** The limit for all images together. Default: 100 GiB. */
  readonly storeBytes: number;
  /** Disk usage in per cent, above which images are removed. Default: 85. */
  readonly highPercent: number;
  /** Images are removed until this disk usage in per cent is reached. Default: 80. */
  readonly lowPercent: number;
  /** Images that were used more recently are not removed. Default: 120,000. */
  readonly leastAgeMs: number;
}

export interface DiskUse {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** The kubelet's defaults, and a limit on the store for a machine whose disk is mostly used for something else. */
export const garbageLimits: GarbageLimits = {
  storeBytes: 100 * 2 ** 30,
  highPercent: 85,
  lowPercent: 80,
  leastAgeMs: 120_000,
};

/**
 * Chooses the images to remove, least recently used first. Layers that images share are counted once for each image, so
 * removing an image may free less than its size.
 */
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
