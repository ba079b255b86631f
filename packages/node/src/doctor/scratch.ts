import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { layoutOf } from "../layout.ts";
import { makeFolder } from "../system/make-folder.ts";

/** In a folder where the box keeps its files, because filesystems differ. It is gone afterwards, with those made for it. */
export async function inScratch<T>(dataDir: string, look: (folder: string, parent: string) => Promise<T>): Promise<T> {
  const { dataDir: parent } = layoutOf(dataDir);
  const isNew = await makeFolder(parent);
  const folder = await mkdtemp(join(parent, "doctor-"));
  try {
    return await look(folder, parent);
  } finally {
    await rm(isNew ?? folder, { recursive: true, force: true });
  }
}
