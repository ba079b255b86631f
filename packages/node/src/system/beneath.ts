import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { hasCode } from "../errors.ts";

/** Names a file without opening its content; Node has no word for it. The same on all of Linux' architectures. */
const pathOnly = 0o10_000_000;

export interface BeneathOptions {
  /** Folders that are missing are made, with this mode. */
  readonly makeMode?: number;
}

/**
 * A descriptor of what lies at a path below a folder, reached step by step without following a link: whoever can write
 * to the folder cannot lead us out of it, not even by changing it while we look. The caller closes it.
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
    // No `chmod` afterwards: by then the name could stand for something else.
    await mkdir(path, { mode: makeMode });
    return open(path, flags);
  }
}
