import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { copyStore, packCopy } from "./backup-file.ts";
import { lockFolder } from "./folder-lock.ts";
import { readJournal } from "./read-journal.ts";

/** Backs up the data folder of a stopped server. Fails if the server is running or the store is damaged. */
export async function backUpFolder(folder: string, file: string): Promise<void> {
  const path = join(folder, "store.db");
  if (!existsSync(path)) throw new Error(`Cannot back up "${folder}": no server has ever run there`);
  const lock = lockFolder(folder);
  try {
    readJournal(path, ({ rows }) => void [...rows].length);
    const store = new DatabaseSync(path, { readOnly: true });
    const copy = join(folder, "backup.tmp");
    try {
      await copyStore(store, folder, copy);
    } finally {
      store.close();
    }
    await saveBackup(packCopy(copy), file);
  } finally {
    lock.release();
  }
}

/** Writes a packed backup atomically. Only its owner can read it, because it contains keys and Secrets. */
export async function saveBackup(packed: Readable, file: string): Promise<void> {
  const partial = `${file}.partial`;
  try {
    await pipeline(packed, createWriteStream(partial, { mode: 0o600 }));
    await sync(partial);
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}
