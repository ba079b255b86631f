import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf } from "../layout.ts";
import { trialPrefix } from "../runtime/probe.ts";
import { makeFolder } from "../system/make-folder.ts";

/** Runs checks in a temporary folder below the data folder, because they depend on the filesystem. Removes it afterwards, and the next start of the node after a crash. */
export async function inScratch<T>(dataDir: string, look: (folder: string, parent: string) => Promise<T>): Promise<T> {
  const { dataDir: parent } = layoutOf(dataDir);
  const isNew = await makeFolder(parent);
  const folder = await mkdtemp(join(parent, `${trialPrefix}doctor-`));
  try {
    return await look(folder, parent);
  } finally {
    await rm(isNew ?? folder, { recursive: true, force: true });
  }
}
