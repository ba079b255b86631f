import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { ApiError } from "../api-error.ts";
import type { Clock } from "../clock.ts";
import type { Interner } from "../interner.ts";
import type { Logger } from "../logger.ts";
import { packCopy } from "./backup-file.ts";
import { lockFolder } from "./folder-lock.ts";
import type { HistoryBounds } from "./history.ts";
import { memoryJournal } from "./journal.ts";
import { LogStore } from "./log-store.ts";
import { ObjectCache } from "./object-cache.ts";
import { readJournal } from "./read-journal.ts";
import { replay } from "./replay.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import type { Store } from "./store.ts";

export interface OpenStoreOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly history?: HistoryBounds;
  /** Default: one of its own. */
  readonly interner?: Interner;
}

export function openMemoryStore({ interner, ...options }: OpenStoreOptions): Store {
  const state = replay({ rows: [], floors: new Map() }, new ObjectCache(interner));
  return new LogStore({ ...options, journal: memoryJournal, state });
}

/**
 * Opens the store in a data folder, which it creates if necessary, and locks the folder until the store is closed. Fails
 * without changing anything if the folder is in use, or if its store is damaged or not a store.
 */
export function openStore(folder: string, { interner, ...options }: OpenStoreOptions): Store {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(folder);
  try {
    const path = join(folder, "store.db");
    const state = readJournal(path, (journal) => replay(journal, new ObjectCache(interner)));
    const journal = new SqliteJournal(path);
    const backUp = oneAtATime(() => packedCopy(journal, folder));
    return new LogStore({ ...options, state, journal, backUp, onClosed: () => lock.release() });
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function packedCopy(journal: SqliteJournal, folder: string): Promise<Readable> {
  const path = join(folder, "backup.tmp");
  await journal.backUp(folder, path);
  return packCopy(path);
}

/** Allows one backup at a time, because each takes as much disk space as the store. */
function oneAtATime(make: () => Promise<Readable>): () => Promise<Readable> {
  let busy = false;
  return async () => {
    if (busy) {
      throw new ApiError("TooManyRequests", "another backup is in progress", { details: { retryAfterSeconds: 10 } });
    }
    busy = true;
    try {
      const made = await make();
      return made.once("close", () => {
        busy = false;
      });
    } catch (error) {
      busy = false;
      throw error;
    }
  };
}
