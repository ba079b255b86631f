import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeNode } from "@agent-sandbox/node";
import { CommandError } from "../command-error.ts";
import type { BoxPaths } from "./box-paths.ts";

/** Stops every sandbox of a stopped box and deletes its data folder. Returns false if the folder does not exist. */
export async function purgeBox(paths: BoxPaths): Promise<boolean> {
  if (!existsSync(paths.dataDir)) return false;
  // Protects other folders, such as a home folder, from a mistyped --data-dir.
  if (!["kubeconfig", "box.log", "node"].some((part) => existsSync(join(paths.dataDir, part)))) {
    throw new CommandError(`Cannot purge "${paths.dataDir}": it is not the data folder of a box`);
  }
  await removeNode({ dataDir: paths.dataDir });
  rmSync(paths.dataDir, { recursive: true, force: true });
  return true;
}
