import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";

/** The limits of all sandboxes together. The rest is reserved for the box and the machine. */
export interface Budget {
  /** Default: all but the larger of 1 GiB and a tenth of the memory, at least half. */
  readonly memoryBytes: number;
  /** Processes and threads. Default: three quarters of the process ids. */
  readonly pids: number;
  /** When the data folder's filesystem has less free space, new Pods wait and the largest Pod is evicted. Default: a twentieth, at most 4 GiB. */
  readonly diskFreeBytes: number;
  /** The same for inodes. Default: a twentieth, at most 100,000. */
  readonly inodesFree: number;
}

/** The resources of the machine. */
export interface MachineSize {
  readonly memoryBytes: number;
  readonly pids: number;
  readonly diskBytes: number;
  /** 0 on a filesystem that allocates inodes dynamically. */
  readonly inodes: number;
}

const gibibyte = 2 ** 30;

/**
 * The default budget reserves the larger of 1 GiB and a tenth of the memory, but at most half; a quarter of the process ids;
 * and a twentieth of the disk, but at most 4 GiB and 100,000 inodes.
 */
export function defaultBudget({ memoryBytes, pids, diskBytes, inodes }: MachineSize): Budget {
  const keptBack = Math.min(memoryBytes / 2, Math.max(gibibyte, memoryBytes / 10));
  return {
    memoryBytes: Math.floor(memoryBytes - keptBack),
    pids: Math.floor((pids * 3) / 4),
    diskFreeBytes: Math.floor(Math.min(4 * gibibyte, diskBytes / 20)),
    inodesFree: Math.floor(Math.min(100_000, inodes / 20)),
  };
}

/** Reads the machine's memory and process ids, or the memory limit of the container that this process runs in. */
export async function readMachineSize(disk: Pick<MachineSize, "diskBytes" | "inodes">): Promise<MachineSize> {
  const [most = 0, threads = 0] = await Promise.all(
    ["pid_max", "threads-max"].map(async (name) => Number(await readFile(`/proc/sys/kernel/${name}`, "utf8"))),
  );
  // 0, or a number above the machine's memory, means no limit.
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return { ...disk, memoryBytes: Math.min(totalmem(), limit), pids: Math.min(most, threads) };
}
