import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { hasCode, messageOf, NodeError } from "../errors.ts";

/**
 * Creates a folder with mode 0700 and its missing parents, and returns the first one created. Node's recursive `mkdir` reports
 * a read-only filesystem as ENOENT, and never returns for a path below /proc.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    if (hasCode(error, "EEXIST") && (await isFolder(path))) return undefined;
    const parent = dirname(path);
    // ENOENT although the parent exists: a filesystem such as /proc, where no folders can be created.
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
