import { statfs } from "node:fs/promises";
import { NodeError } from "../errors.ts";

/** The space and inodes that must stay free on the disk of the image store. */
export interface DiskReserve {
  readonly diskFreeBytes: number;
  readonly inodesFree: number;
}

export interface DiskSpace {
  readonly freeBytes: number;
  /** Infinite on a filesystem that allocates inodes dynamically. */
  readonly freeInodes: number;
}

export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  return { freeBytes: bavail * bsize, freeInodes: files === 0 ? Number.POSITIVE_INFINITY : ffree };
}

/** Describes the missing disk space or inodes. Undefined if there is enough of both. */
export function shortage({ freeBytes, freeInodes }: DiskSpace, reserve: DiskReserve): "bytes" | "inodes" | undefined {
  if (freeBytes < reserve.diskFreeBytes) return "bytes";
  return freeInodes < reserve.inodesFree ? "inodes" : undefined;
}

/** Makes the error for a disk that is too full. `kept` is what must stay free, as in "4096 bytes". */
export type Refusal = (kept: string) => Error;

const refuseImage: Refusal = (kept) =>
  new NodeError("ErrImagePull", `Cannot store the image: the disk is full, this node keeps ${kept} free`);

/** Throws when the disk has no more free space than its reserve, which is shared by all tenants. */
export async function checkRoom(folder: string, reserve: DiskReserve, refuse: Refusal = refuseImage): Promise<void> {
  const short = shortage(await diskSpace(folder), reserve);
  if (short === undefined) return;
  throw refuse(short === "bytes" ? `${reserve.diskFreeBytes} bytes` : `${reserve.inodesFree} inodes`);
}

const checkEveryMs = 1000;

/** Runs work that fills the disk, and aborts it when only the reserve is left. */
export async function withinRoom<T>(
  folder: string,
  reserve: DiskReserve,
  work: (signal: AbortSignal) => Promise<T>,
  refuse: Refusal = refuseImage,
): Promise<T> {
  await checkRoom(folder, reserve, refuse);
  const stop = new AbortController();
  const timer = setInterval(() => {
    checkRoom(folder, reserve, refuse).catch((error: unknown) => stop.abort(error));
  }, checkEveryMs);
  try {
    return await work(stop.signal);
  } catch (error) {
    stop.signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(timer);
  }
}
