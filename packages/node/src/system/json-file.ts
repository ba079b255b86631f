import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, messageOf, NodeError } from "../errors.ts";

/**
 * Replaces a file atomically: readers find the old value or the new one, also after a crash of this process. `durable` syncs
 * it to the disk, so that it survives a power failure.
 */
export async function writeJson(
  path: string,
  value: unknown,
  { durable = false }: { durable?: boolean } = {},
): Promise<void> {
  const temporary = `${path}.new`;
  const text = `${JSON.stringify(value, undefined, 2)}\n`;
  // In this thread unless it is synced: handing four calls to other threads takes longer than the calls do.
  if (!durable) {
    writeFileSync(temporary, text, { mode: 0o600 });
    return renameSync(temporary, path);
  }
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await sync(dirname(path));
}

/** The value, or undefined if the file does not exist. The caller validates it. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw new NodeError("NodeSetup", `Cannot read "${path}": ${messageOf(error)}`, { cause: error });
  }
}

/** Syncs a file and its folder entry to the disk. */
export async function syncFile(path: string): Promise<void> {
  await Promise.all([path, dirname(path)].map(sync));
}

/** Syncs a file or folder to the disk. */
export async function sync(path: string): Promise<void> {
  const opened = await open(path, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
