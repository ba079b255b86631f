import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { restoreFolder } from "@agent-sandbox/apiserver";
import { startInBackground, stopBox } from "../box/background.ts";
import { type BoxPaths, boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox, type RunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";

/** Enough for running reconciles to finish. */
const patienceMs = 30_000;

export interface BoxSwitch {
  stop(paths: BoxPaths, box: RunningBox): Promise<void>;
  start(paths: BoxPaths, words: readonly string[]): Promise<unknown>;
}

const ownSwitch: BoxSwitch = { stop: (paths, box) => stopBox(paths, box, patienceMs), start: startInBackground };

/** Replaces the objects and keys of a box by a backup. Stops a running box, and starts it again even if the restore fails. */
export async function restore(file: string, options: GlobalOptions, box: BoxSwitch = ownSwitch): Promise<void> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  // Check the file before stopping the box or creating a folder.
  mustBeReadable(resolve(file));
  const running = findRunningBox(paths);
  if (running === undefined) return restoreInto(paths, file);
  const { pid, words } = running;
  if (words === undefined) {
    throw new CommandError(
      `Cannot restore "${paths.dataDir}": the box is running in the foreground (process ${pid}); stop it first`,
    );
  }
  await box.stop(paths, running);
  try {
    await restoreInto(paths, file);
  } finally {
    await box.start(paths, words);
    console.log("The box is running again");
  }
}

function mustBeReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    const why = getSystemErrorMessage((error as { readonly errno: number }).errno);
    throw new CommandError(`Cannot read backup "${file}": ${why}`, { cause: error });
  }
}

async function restoreInto({ dataDir }: BoxPaths, file: string): Promise<void> {
  try {
    const { objects, revision } = await restoreFolder(dataDir, resolve(file));
    console.log(`Restored ${objects} objects into ${dataDir}; resource versions continue at ${revision}`);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
