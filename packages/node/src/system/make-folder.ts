import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { hasCode, messageOf, NodeError } from "../errors.ts";

/**
 * Makes a folder for its owner alone, with those above it that are not there, and gives the first that it made. Node's own way
 * takes a read-only filesystem for a missing file, and never comes back from below /proc.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    if (hasCode(error, "EEXIST") && (await isFolder(path))) return undefined;
    const parent = dirname(path);
    // A parent that is there, and in which nothing can be made, is of a kind that takes no folders.
    if (!hasCode(error, "ENOENT") || (await isFolder(parent))) {
      throw new NodeError("NodeSetup", `Cannot make folder "${path}": ${reasonOf(error)}`, { cause: error });
    }
    const first = await makeFolder(parent);
    const own = await makeFolder(path);
    return first ?? own;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function reasonOf(error: unknown): string {
  const { errno } = error as { readonly errno?: number };
  if (hasCode(error, "EEXIST")) return "there is a file of that name";
  return errno === undefined ? messageOf(error) : getSystemErrorMessage(errno);
}
