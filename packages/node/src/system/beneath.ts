import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { hasCode } from "../errors.ts";

/** O_PATH, which Node does not define. The same on all architectures of Linux. */
const pathOnly = 0o10_000_000;

export interface BeneathOptions {
  /** Creates missing folders with this mode. */
  readonly makeMode?: number;
}

/**
 * Opens a path below a folder, one component at a time, without following links. A tenant who can write to the folder cannot
 * redirect it out of the folder, not even by changing the folder at the same time. The caller closes the handle.
 */
export async function openBeneath(base: string, path: string, options: BeneathOptions = {}): Promise<FileHandle> {
  let handle = await open(base, pathOnly | constants.O_DIRECTORY);
  try {
    for (const part of path.split("/").filter((one) => one !== "" && one !== ".")) {
      if (part === "..") throw new Error(`"${path}" leads out of its folder`);
      const next = await step(handle, part, options);
      await handle.close();
      handle = next;
      if ((await handle.stat()).isSymbolicLink()) throw new Error(`"${part}" of "${path}" is a link`);
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function step(folder: FileHandle, name: string, { makeMode }: BeneathOptions): Promise<FileHandle> {
  const path = `/proc/self/fd/${folder.fd}/${name}`;
  const flags = pathOnly | constants.O_NOFOLLOW;
  try {
    return await open(path, flags);
  } catch (error) {
    if (makeMode === undefined || !hasCode(error, "ENOENT")) throw error;
    // Do not `chmod` afterwards: the name could refer to a different file by then.
    await mkdir(path, { mode: makeMode });
    return open(path, flags);
  }
}
