import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, messageOf, NodeError } from "../errors.ts";

/** Replaces a file as a whole: after a crash it holds the old value or the new one, and the new one is on the disk. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(value, undefined, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** The value, or undefined when there is no such file. What the file holds is the caller's to check. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw new NodeError("NodeSetup", `Cannot read "${path}": ${messageOf(error)}`, { cause: error });
  }
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
