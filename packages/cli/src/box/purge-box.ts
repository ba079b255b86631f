import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeNode } from "@agent-sandbox/node";
import { CommandError } from "../command-error.ts";
import type { BoxPaths } from "./box-paths.ts";

/** Ends every sandbox of a box that does not run, and deletes its folder. False when there is none. */
export async function purgeBox(paths: BoxPaths): Promise<boolean> {
  if (!existsSync(paths.dataDir)) return false;
  // A mistyped --data-dir must not cost anybody their home folder.
  if (!["kubeconfig", "box.log", "node"].some((part) => existsSync(join(paths.dataDir, part)))) {
    throw new CommandError(`Cannot purge "${paths.dataDir}": no box has ever run there`);
  }
  await removeNode({ dataDir: paths.dataDir });
  rmSync(paths.dataDir, { recursive: true, force: true });
  return true;
}
