import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { ApiError } from "../api-error.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { packCopy } from "./backup-file.ts";
import { lockFolder } from "./folder-lock.ts";
import type { HistoryBounds } from "./history.ts";
import { memoryJournal } from "./journal.ts";
import { LogStore } from "./log-store.ts";
import { readJournal } from "./read-journal.ts";
import { replay } from "./replay.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import type { Store } from "./store.ts";

export interface OpenStoreOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly history?: HistoryBounds;
}

export function openMemoryStore(options: OpenStoreOptions): Store {
  return new LogStore({ ...options, journal: memoryJournal, state: replay({ rows: [], floors: new Map() }) });
}

/**
 * Opens the store in a data folder, made if it is not there, and keeps every other process out of that folder until it
 * is closed. Fails without changing anything when the folder is in use or holds a file that is not ours or is damaged.
 */
export function openStore(folder: string, options: OpenStoreOptions): Store {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(folder);
  try {
    const path = join(folder, "store.db");
    const state = readJournal(path, replay);
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

/** A copy takes as much room as the store: clients may not have many made at once. */
function oneAtATime(make: () => Promise<Readable>): () => Promise<Readable> {
  let busy = false;
  return async () => {
    if (busy) {
      throw new ApiError("TooManyRequests", "a backup is being made already", { details: { retryAfterSeconds: 10 } });
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
