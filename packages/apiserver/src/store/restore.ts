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
 * How far the revisions of a restored store are from all that clients may know: whoever watches from an earlier one is
 * told that it is gone and lists again.
 */
const revisionGap = 1_000_000;
/** The same, when the store that is replaced is too damaged to tell how far it was. */
const blindRevisionGap = 1_000_000_000;

const rowsPerCommit = 1000;

export interface Restored {
  readonly objects: number;
  readonly revision: number;
}

/**
 * Puts what a backup holds in the place of what a data folder holds: every object, with a new revision, and the server's
 * identity. The store that was there stays beside it as `store.db.before-restore`. Fails and changes nothing when the
 * folder is in use or the file is not a whole backup that this program can read.
 */
export async function restoreFolder(folder: string, file: string): Promise<Restored> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(folder);
  const scratch = join(folder, "restore.tmp");
  try {
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(scratch, { mode: 0o700 });
    const copy = join(scratch, "copy.db");
    await unpackCopy(file, copy);
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
    const { revision } = readJournal(join(folder, "store.db"), replay);
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
    return { objects: count, revision };
  } finally {
    journal.close();
  }
}

/** The store last: until its name is the new one's, everything but the identity is as it was, and can be done again. */
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

/** A log left behind by a killed server would be taken for the new store's. Closing a store folds its log into it. */
function foldLog(path: string): void {
  try {
    new SqliteJournal(path).close();
  } catch {
    // It cannot be opened, which may be why it is replaced: its log goes with it.
  }
  for (const suffix of ["-wal", "-shm"]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.before-restore${suffix}`);
  }
}
