import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";

/** For a folder: its group may do everything, and what is made in it later belongs to the group, too. */
const folderBits = 0o2070;
const fileBits = 0o060;

/**
 * Gives a folder with all it holds to a group. Somebody may be changing it at the same time, so every step goes through
 * a descriptor and none follows a link. Only files and folders are touched.
 */
export async function giveToGroup(root: string, group: number): Promise<void> {
  await using folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await giveFolder(folder, group);
}

async function giveFolder(folder: FileHandle, group: number): Promise<void> {
  await giveOne(folder, group, folderBits);
  const path = `/proc/self/fd/${folder.fd}`;
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using child = await open(`${path}/${entry.name}`, flags);
    const found = await child.stat();
    if (found.isDirectory()) await giveFolder(child, group);
    else if (found.isFile()) await giveOne(child, group, fileBits);
  }
}

async function giveOne(handle: FileHandle, group: number, bits: number): Promise<void> {
  const { uid, mode } = await handle.stat();
  await handle.chown(uid, group);
  await handle.chmod((mode & 0o7777) | bits);
}
