import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { lockFolder } from "./folder-lock.ts";
import type { HistoryBounds } from "./history.ts";
import { memoryJournal } from "./journal.ts";
import { LogStore } from "./log-store.ts";
import { replay } from "./replay.ts";
import { readJournal, SqliteJournal } from "./sqlite-journal.ts";
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
    return new LogStore({ ...options, state, journal: new SqliteJournal(path), onClosed: () => lock.release() });
  } catch (error) {
    lock.release();
    throw error;
  }
}
