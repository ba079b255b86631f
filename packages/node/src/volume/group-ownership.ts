import { constants } from "node:fs";
import { type FileHandle, open, opendir } from "node:fs/promises";

/** All permissions for the group, and setgid, so that new files belong to the group too. */
const folderBits = 0o2070;
const fileBits = 0o060;

/** Each level needs a file descriptor of the node, which serves all Pods. No real program nests folders this deep. */
const mostLevels = 200;
/** A walk over this many files takes about a minute. */
const mostEntries = 1_000_000;

interface Progress {
  readonly group: number;
  entries: number;
}

/**
 * Sets the group of a folder and everything in it. Containers may change it at the same time, so every step uses a file
 * descriptor and follows no link. Only files and folders are changed. Throws if the tree is too deep or has too many files.
 */
export async function giveToGroup(root: string, group: number): Promise<void> {
  await using folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await giveFolder(folder, { group, entries: 0 }, 1);
}

async function giveFolder(folder: FileHandle, progress: Progress, level: number): Promise<void> {
  if (level > mostLevels) throw new Error(`fsGroup: the volume is more than ${mostLevels} folders deep`);
  const { group } = progress;
  await giveOne(folder, group, folderBits);
  for await (const entry of await opendir(`/proc/self/fd/${folder.fd}`)) {
    progress.entries += 1;
    if (progress.entries > mostEntries) throw new Error(`fsGroup: the volume has more than ${mostEntries} files`);
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using child = await open(`/proc/self/fd/${folder.fd}/${entry.name}`, flags);
    const found = await child.stat();
    if (found.isDirectory()) await giveFolder(child, progress, level + 1);
    else if (found.isFile()) await giveOne(child, group, fileBits);
  }
}

async function giveOne(handle: FileHandle, group: number, bits: number): Promise<void> {
  const { uid, mode } = await handle.stat();
  await handle.chown(uid, group);
  await handle.chmod((mode & 0o7777) | bits);
}
