import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openNodeImages, removeNode } from "@agent-sandbox/node";
import { CommandError } from "../command-error.ts";
import type { BoxPaths } from "./box-paths.ts";

/** Stops every sandbox of a stopped box and deletes its data folder. Returns false if the folder does not exist. */
export async function purgeBox(paths: BoxPaths): Promise<boolean> {
  if (!existsSync(paths.dataDir)) return false;
  mustBeBox(paths);
  await removeNode({ dataDir: paths.dataDir });
  rmSync(paths.dataDir, { recursive: true, force: true });
  return true;
}

/** What `purgeBox` would delete, as lines for the user. Undefined if there is nothing to delete. */
export async function describePurge(paths: BoxPaths): Promise<readonly string[] | undefined> {
  if (!existsSync(paths.dataDir)) return undefined;
  mustBeBox(paths);
  const images = await openNodeImages({ dataDir: paths.dataDir }).then((store) => store.list());
  return [
    `This stops every sandbox of the box and deletes ${paths.dataDir}:`,
    "  all objects, keys, tokens, volumes, snapshots and saved memory",
    `  Pods with their files      ${namesIn(paths, "pods")}`,
    `  files of sandboxes asleep  ${namesIn(paths, "kept")}`,
    `  images                     ${images.length}`,
  ];
}

function namesIn({ dataDir }: BoxPaths, folder: string): number {
  try {
    return readdirSync(join(dataDir, "node", folder)).length;
  } catch {
    return 0;
  }
}

/** Protects other folders, such as a home folder, from a mistyped --data-dir. */
function mustBeBox({ dataDir }: BoxPaths): void {
  try {
    readdirSync(dataDir);
  } catch (error) {
    // A folder of another user looks empty to `existsSync`.
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    throw new CommandError(`Cannot purge "${dataDir}": permission denied; run the command with sudo`, { cause: error });
  }
  if (["kubeconfig", "box.log", "node"].some((part) => existsSync(join(dataDir, part)))) return;
  throw new CommandError(`Cannot purge "${dataDir}": it is not the data folder of a box`);
}
