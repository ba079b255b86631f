import { stopBox } from "../box/background.ts";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";

/** Enough for running reconciles to finish. */
const patienceMs = 30_000;

export interface DownOptions extends GlobalOptions {
  readonly purge?: boolean;
  readonly yes?: boolean;
}

export async function down(options: DownOptions): Promise<void> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const purging = options.purge === true ? await import("../box/purge-box.ts") : undefined;
  const found = await purging?.describePurge(paths);
  if (found !== undefined && options.yes !== true && process.stdin.isTTY && process.stderr.isTTY) {
    const { askYesNo } = await import("../client/ask.ts");
    console.error(found.join("\n"));
    if (!(await askYesNo("Delete all of it?")))
      throw new CommandError("nothing was deleted, and the box was not stopped");
  }
  const box = findRunningBox(paths);
  if (box === undefined) console.log(`No box is running in ${paths.dataDir}`);
  else {
    await stopBox(paths, box, patienceMs);
    console.log(`The box has stopped${options.purge === true ? "" : "; its sandboxes keep running"}`);
  }
  if (purging === undefined) return;
  const removed = await purging.purgeBox(paths);
  console.log(removed ? `Removed every sandbox and ${paths.dataDir}` : `${paths.dataDir} does not exist`);
}
