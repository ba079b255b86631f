import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";

/** What all sandboxes of this node may use together. The rest of the machine is for the box and the machine itself. */
export interface Budget {
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly pids: number;
  /** When the disk of the data folder has less free space, new Pods wait and the largest writer is evicted. */
  readonly diskFreeBytes: number;
  /** The same for inodes. */
  readonly inodesFree: number;
}

/** What the machine has. */
export interface MachineSize {
  readonly memoryBytes: number;
  readonly pids: number;
  readonly diskBytes: number;
  /** 0 on a filesystem that makes inodes as it needs them. */
  readonly inodes: number;
}

const gibibyte = 2 ** 30;

/**
 * The default budget: all memory but the larger of 1 GiB and a tenth (at most half of a small machine is kept back), three
 * quarters of the process ids, and on the disk a twentieth kept free, but not more than 4 GiB and 100,000 inodes.
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

/** The memory and process ids that this process and its children can have: a container's limit counts as well. */
export async function readMachineSize(disk: Pick<MachineSize, "diskBytes" | "inodes">): Promise<MachineSize> {
  const [most = 0, threads = 0] = await Promise.all(
    ["pid_max", "threads-max"].map(async (name) => Number(await readFile(`/proc/sys/kernel/${name}`, "utf8"))),
  );
  // 0 when there is no limit; a number above the machine's memory says the same.
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return { ...disk, memoryBytes: Math.min(totalmem(), limit), pids: Math.min(most, threads) };
}
