import { StateError } from "./state-error.ts";

/** The limits of saved memory and of snapshots on this node. */
export interface StateLimits {
  /** Images of suspended Sandboxes, in all. Default: 2000. */
  readonly images: number;
  /** Images of one namespace. Default: 1000. */
  readonly imagesPerNamespace: number;
  /** Bytes on the disk of one image. Default: a quarter of `bytes`. */
  readonly imageBytes: number;
  /** Bytes on the disk of the images of one namespace. Default: half of `bytes`. */
  readonly bytesPerNamespace: number;
  /** Bytes on the disk of all images. Default: a quarter of the disk. */
  readonly bytes: number;
  /** Pods that are saved at the same time. Each writes as fast as the disk allows. Default: 2. */
  readonly saves: number;
  /** Snapshots, in all. Default: 256. */
  readonly snapshots: number;
  /** Snapshots of one namespace. Default: 64. */
  readonly snapshotsPerNamespace: number;
  /** Snapshots of one Sandbox. Default: 32. */
  readonly snapshotsPerSandbox: number;
  /** Bytes on the disk of all snapshots. Default: a quarter of the disk, at most 64 GiB. */
  readonly snapshotBytes: number;
  /** Bytes on the disk of the snapshots of one namespace. Default: a quarter of `snapshotBytes`. */
  readonly snapshotBytesPerNamespace: number;
}

/** An image and what it takes. */
export interface ImageUse {
  readonly sandboxUid: string;
  readonly namespace: string;
  readonly bytes: number;
}

const mostSnapshotBytes = 64 * 2 ** 30;

/**
 * A quarter of the disk for all images, a half of that for one namespace and a quarter for one image. Another quarter for all snapshots. A
 * namespace cannot use more than a quarter of the snapshots that the node keeps, and a Sandbox not more than half of that.
 */
export function defaultStateLimits(diskBytes: number): StateLimits {
  const bytes = Math.floor(diskBytes / 4);
  const snapshotBytes = Math.min(mostSnapshotBytes, bytes);
  return {
    images: 2000,
    imagesPerNamespace: 1000,
    imageBytes: Math.floor(bytes / 4),
    bytesPerNamespace: Math.floor(bytes / 2),
    bytes,
    saves: 2,
    snapshots: 256,
    snapshotsPerNamespace: 64,
    snapshotsPerSandbox: 32,
    snapshotBytes,
    snapshotBytesPerNamespace: Math.floor(snapshotBytes / 4),
  };
}

/** Throws `QuotaExceeded` if one more image would exceed a limit. */
export function checkLimits(wanted: ImageUse, others: readonly ImageUse[], limits: StateLimits): void {
  const neighbours = others.filter(({ namespace }) => namespace === wanted.namespace);
  const whose = `namespace "${wanted.namespace}"`;
  check(
    wanted.bytes,
    limits.imageBytes,
    (most) => `the image would have ${wanted.bytes} bytes, and ${most} are allowed`,
  );
  check(neighbours.length + 1, limits.imagesPerNamespace, (most) => `${whose} has its ${most} images already`);
  check(others.length + 1, limits.images, (most) => `this node has its ${most} images already`);
  const used = bytesOf(neighbours);
  check(used + wanted.bytes, limits.bytesPerNamespace, (most) => full(whose, used, most, wanted.bytes));
  const all = bytesOf(others);
  check(all + wanted.bytes, limits.bytes, (most) => full("this node", all, most, wanted.bytes));
}

function check(value: number, most: number, why: (most: number) => string): void {
  if (value > most) throw new StateError("QuotaExceeded", `Cannot save the memory of the Pod: ${why(most)}`);
}

function full(owner: string, used: number, most: number, wanted: number): string {
  return `${owner} uses ${used} of ${most} bytes for images, and ${wanted} more are needed`;
}

function bytesOf(images: readonly ImageUse[]): number {
  return images.reduce((sum, { bytes }) => sum + bytes, 0);
}
