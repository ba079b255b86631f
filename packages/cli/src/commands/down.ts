import { stopBox } from "../box/background.ts";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";

/** Enough for running reconciles to finish. */
const patienceMs = 30_000;

export async function down(options: GlobalOptions & { readonly purge?: boolean }): Promise<void> {
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  const box = findRunningBox(paths);
  if (box === undefined) console.log(`No box is running in ${paths.dataDir}`);
  else {
    await stopBox(paths, box, patienceMs);
    console.log(`The box has stopped${options.purge === true ? "" : "; its sandboxes keep running"}`);
  }
  if (options.purge === true) {
    const { purgeBox } = await import("../box/purge-box.ts");
    const removed = await purgeBox(paths);
    console.log(removed ? `Removed every sandbox and ${paths.dataDir}` : `${paths.dataDir} does not exist`);
  }
}
