import { resolve } from "node:path";
import { restoreFolder } from "@agent-sandbox/apiserver";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";

/** Puts a backup in the place of what a box that does not run has. */
export async function restore(file: string, options: GlobalOptions): Promise<void> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const box = findRunningBox(paths);
  if (box !== undefined) {
    throw new CommandError(
      `Cannot restore "${paths.dataDir}": the box runs (process ${box.pid}); stop it with "agent-sandbox down" first`,
    );
  }
  try {
    const { objects, revision } = await restoreFolder(paths.dataDir, resolve(file));
    console.log(`Restored ${objects} objects into ${paths.dataDir}; its revisions go on from ${revision}`);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
