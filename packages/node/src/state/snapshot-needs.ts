import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { countDisk } from "../pod/count-disk.ts";
import { trialPrefix } from "../runtime/probe.ts";
import { tryCommand } from "../system/run-command.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";

export interface SnapshotParts {
  /** The folders that are copied. */
  readonly folders: readonly string[];
  /** Bytes of files that are shared with another image. */
  readonly linkedBytes?: number;
  /** Bytes that the runtime writes at most. They count in the quota when their real number is known. */
  readonly memoryBytes?: number;
}

/**
 * Estimates a snapshot before anything is written. `scratch` is the data folder of the node. Folders that cannot be counted in time are left out,
 * because the free space of the disk is also checked while they are copied.
 */
export async function needsOf(
  scratch: string,
  { folders, linkedBytes = 0, memoryBytes = 0 }: SnapshotParts,
): Promise<SnapshotNeeds> {
  const counted = folders.length === 0 ? new Map<string, number>() : await countDisk(folders);
  const files = [...(counted?.values() ?? [])].reduce((sum, bytes) => sum + bytes, 0);
  const copied = files > 0 && (await sharesBlocks(scratch)) ? 0 : files;
  return { bytes: files + linkedBytes, diskBytes: copied + memoryBytes };
}

/** Whether a copy of a file uses no space, as on XFS and Btrfs. */
export async function sharesBlocks(folder: string): Promise<boolean> {
  // The next start removes what a killed process left.
  const trial = await mkdtemp(join(folder, `${trialPrefix}copy-`));
  try {
    const file = join(trial, "file");
    await writeFile(file, Buffer.alloc(4096));
    const { code } = await tryCommand("cp", ["--reflink=always", "--", file, join(trial, "copy")]);
    return code === 0;
  } finally {
    await rm(trial, { recursive: true, force: true });
  }
}
