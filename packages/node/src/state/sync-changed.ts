import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { hasCode } from "../errors.ts";
import { runCommand } from "../system/run-command.ts";
import { syncTree } from "./clone-tree.ts";

/** With more entries, a program that looks at them is faster than this process. */
const mostEntries = 2000;
/** With more files, syncing the whole filesystem is faster. It bounds what a sandbox with many files costs. */
const mostChanged = 500;
const atOnce = 16;
const findWithinMs = 60_000;

/**
 * Writes the files and folders below a root that have changed since then to the disk, so that they survive a power failure. Nothing
 * may write to the root at the same time. Links are not followed, and other filesystems are left out.
 */
export async function syncChanged(root: string, sinceMs: number): Promise<void> {
  const changed = await changedSince(root, sinceMs);
  if (changed === undefined) return syncMany(root, sinceMs);
  const queue = changed.values();
  const work = async (): Promise<void> => {
    for (const path of queue) await sync(path);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, changed.length) }, work));
}

/** The regular files and folders that have changed; undefined if there are too many entries. Names are any bytes. */
export async function changedSince(
  root: string,
  sinceMs: number,
  most: number = mostEntries,
): Promise<readonly Buffer[] | undefined> {
  const top = await lstat(root).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  });
  if (top === undefined) return [];
  const folders: Buffer[] = [Buffer.from(root)];
  const changed: Buffer[] = top.ctimeMs >= sinceMs ? [Buffer.from(root)] : [];
  let entries = 0;
  for (const folder of folders) {
    const found = await readdir(folder, { withFileTypes: true, encoding: "buffer" });
    entries += found.length;
    if (entries > most) return undefined;
    const paths = found.filter((one) => one.isFile() || one.isDirectory()).map(({ name }) => joined(folder, name));
    const stats = await Promise.all(paths.map((path) => lstat(path)));
    for (const [index, path] of paths.entries()) {
      const stat = stats[index];
      if (stat === undefined || stat.dev !== top.dev) continue;
      if (stat.isDirectory()) folders.push(path);
      if (stat.ctimeMs >= sinceMs) changed.push(path);
    }
  }
  return changed;
}

async function syncMany(root: string, sinceMs: number): Promise<void> {
  const kinds = ["(", "-type", "f", "-o", "-type", "d", ")"];
  const find = (...action: string[]): Promise<string> =>
    runCommand("find", [root, "-xdev", ...kinds, "-newerct", `@${sinceMs / 1000}`, ...action], {
      timeoutMs: findWithinMs,
    });
  if ((await find("-printf", ".")).length > mostChanged) return syncTree(root);
  await find("-exec", "sync", "--", "{}", "+");
}

function joined(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}

async function sync(path: Buffer): Promise<void> {
  // Not blocked by a FIFO, and no link is followed, although there should be neither here.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
