import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { copyStore } from "./backup-file.ts";
import type { Compaction, Journal, JournalRow } from "./journal.ts";
import { storeFormat } from "./read-journal.ts";

/**
 * A write-ahead log about this long is folded into the main file even when the store never rests. Nothing else is done
 * meanwhile: ten milliseconds or so now and then, where a log four times as long would take up to forty.
 */
const maxLogBytes = 4 * 1024 * 1024;
/** What a commit writes beside its rows: the pages above them. */
const commitBytes = 3 * 4096;

const createSchema = `
  PRAGMA application_id = ${storeFormat.applicationId};
  PRAGMA user_version = ${storeFormat.version};
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    key TEXT NOT NULL,
    previous INTEGER,
    at_ms INTEGER NOT NULL,
    object TEXT
  ) STRICT;
  CREATE TABLE floors (resource TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** A journal in one SQLite file, which `readJournal` has accepted. */
export class SqliteJournal implements Journal {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #insert: StatementSync;
  readonly #forget: StatementSync;
  readonly #raiseFloor: StatementSync;
  /** An estimate: asking for the file's size would make the kernel renew its times, and each fsync a journal's commit. */
  #logBytes = 0;

  constructor(path: string) {
    // Secrets are in it: SQLite keeps the mode of a file that exists, and gives it to the log too.
    closeSync(openSync(path, "a", 0o600));
    this.#database = new DatabaseSync(path);
    const isNew = Number(this.#database.prepare("PRAGMA user_version").get()?.["user_version"]) === 0;
    // Made in rollback mode, so that the mark and the version are in the main file before any log exists.
    if (isNew) this.#database.exec(`BEGIN; ${createSchema} COMMIT`);
    this.#database.exec(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0",
    );
    this.#begin = this.#database.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#database.prepare("COMMIT");
    this.#insert = this.#database.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)");
    this.#forget = this.#database.prepare("DELETE FROM log WHERE revision = ?");
    this.#raiseFloor = this.#database.prepare(
      "INSERT INTO floors VALUES (?, ?) ON CONFLICT (resource) DO UPDATE SET revision = excluded.revision",
    );
  }

  append(rows: readonly JournalRow[]): void {
    this.#transaction(() => {
      for (const { revision, resource, key, previous, atMs, object } of rows) {
        this.#insert.run(revision, resource, key, previous ?? null, atMs, object ?? null);
        this.#logBytes += object?.length ?? 0;
      }
    });
  }

  get overdue(): boolean {
    return this.#logBytes > maxLogBytes;
  }

  compact({ revisions, floors }: Compaction): void {
    this.#transaction(() => {
      for (const revision of revisions) this.#forget.run(revision);
      for (const [resource, revision] of floors) this.#raiseFloor.run(resource, revision);
    });
  }

  /** The log file keeps its length and is written over from its start: that is twice as fast as making it grow. */
  tidy(): void {
    if (this.#logBytes === 0) return;
    this.#database.exec("PRAGMA wal_checkpoint(RESTART)");
    this.#logBytes = 0;
  }

  async backUp(folder: string, path: string): Promise<void> {
    await copyStore(this.#database, folder, path);
  }

  close(): void {
    this.#database.close();
  }

  #transaction(work: () => void): void {
    this.#begin.run();
    try {
      work();
      this.#commit.run();
      this.#logBytes += commitBytes;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
