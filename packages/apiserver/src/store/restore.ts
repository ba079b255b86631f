import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withMetadata } from "../api-object.ts";
import { writePrivateFile } from "../private-file.ts";
import { readCopy, unpackCopy } from "./backup-file.ts";
import { lockFolder } from "./folder-lock.ts";
import type { JournalRow } from "./journal.ts";
import { readJournal } from "./read-journal.ts";
import { everything, type Replayed, replay } from "./replay.ts";
import { SqliteJournal } from "./sqlite-journal.ts";

/**
 * The distance of a restored store's revisions from all revisions that clients may know. A watch from an earlier revision
 * gets 410 Gone, and its client lists again.
 */
const revisionGap = 1_000_000;
/** The same, if the replaced store is too damaged to read its last revision. */
const blindRevisionGap = 1_000_000_000;

const rowsPerCommit = 1000;

export interface Restored {
  readonly objects: number;
  readonly revision: number;
}

/**
 * Replaces the content of a data folder with that of a backup: every object, with a new revision, and the server's
 * identity. Keeps the replaced store as `store.db.before-restore`. Fails without changing anything if the folder is in use,
 * or if the file is not a complete backup in a format that this program can read, or if the signal is aborted before
 * the backup is unpacked.
 */
export async function restoreFolder(folder: string, file: string, signal?: AbortSignal): Promise<Restored> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(folder);
  const scratch = join(folder, "restore.tmp");
  try {
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(scratch, { mode: 0o700 });
    const copy = join(scratch, "copy.db");
    await unpackCopy(file, copy, signal);
    // The rest is synchronous, so a signal of the operating system is handled after it.
    const { state, files } = readCopy(copy, ({ journal, files }) => ({ state: replay(journal), files }));
    const made = join(scratch, "store.db");
    const restored = writeStore(made, state, firstRevision(folder, state.revision));
    replaceStore(folder, made, files);
    return restored;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
    lock.release();
  }
}

function firstRevision(folder: string, backedUp: number): number {
  try {
    const { revision } = readJournal(join(folder, "store.db"), (journal) => replay(journal));
    return Math.max(backedUp, revision) + revisionGap;
  } catch {
    return backedUp + blindRevisionGap;
  }
}

function writeStore(path: string, { objects }: Replayed, first: number): Restored {
  const journal = new SqliteJournal(path);
  try {
    const atMs = Date.now();
    let revision = first;
    let rows: JournalRow[] = [];
    let count = 0;
    const flush = (): void => {
      journal.append(rows);
      count += rows.length;
      rows = [];
    };
    for (const [resource, current] of objects) {
      for (const [key, { object }] of current.entries("")) {
        revision += 1;
        const renewed = withMetadata(object, { resourceVersion: String(revision) });
        rows.push({ revision, resource, key, previous: undefined, atMs, object: JSON.stringify(renewed) });
        if (rows.length === rowsPerCommit) flush();
      }
    }
    flush();
    journal.compact({ revisions: [], floors: new Map([[everything, revision]]) });
    // Only the main file is moved. `close` merges the log too, but does not report a full disk.
    journal.checkpoint();
    return { objects: count, revision };
  } finally {
    journal.close();
  }
}

/** Renames the store last. A restore that is interrupted before that has replaced only the identity and can be repeated. */
function replaceStore(folder: string, made: string, files: ReadonlyMap<string, string>): void {
  const path = join(folder, "store.db");
  if (existsSync(path)) {
    foldLog(path);
    const kept = `${path}.before-restore`;
    rmSync(kept, { force: true });
    linkSync(path, kept);
  }
  for (const [name, content] of files) writePrivateFile(join(folder, name), content);
  renameSync(made, path);
  const directory = openSync(folder, "r");
  fsyncSync(directory);
  closeSync(directory);
}

/** Merges the write-ahead log that a killed server left behind, which SQLite would otherwise apply to the new store. */
function foldLog(path: string): void {
  try {
    new SqliteJournal(path).close();
  } catch {
    // A damaged store cannot be opened. Its log is kept beside it.
  }
  for (const suffix of ["-wal", "-shm"]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.before-restore${suffix}`);
  }
}
