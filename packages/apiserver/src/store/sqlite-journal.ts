import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { copyStore } from "./backup-file.ts";
import type { Compaction, Journal, JournalRow } from "./journal.ts";
import { storeFormat } from "./read-journal.ts";

/**
 * A write-ahead log of about this size is merged into the main file even if the store is never idle. That blocks the
 * process for about 10 ms; a log of four times the size would block it for up to 40 ms.
 */
const maxLogBytes = 4 * 1024 * 1024;
/** What a commit writes in addition to its rows: the inner pages of the table. */
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
  /** An estimate. Reading the size of the file would make the kernel update its times, which makes each fsync slower. */
  #logBytes = 0;

  constructor(path: string) {
    // The file contains Secrets. SQLite keeps the mode of an existing file and uses it for the log, too.
    closeSync(openSync(path, "a", 0o600));
    this.#database = new DatabaseSync(path);
    const isNew = Number(this.#database.prepare("PRAGMA user_version").get()?.["user_version"]) === 0;
    // Created in rollback mode, so that the id and the version are in the main file before a log exists.
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

  get needsCheckpoint(): boolean {
    return this.#logBytes > maxLogBytes;
  }

  compact({ revisions, floors }: Compaction): void {
    this.#transaction(() => {
      for (const revision of revisions) this.#forget.run(revision);
      for (const [resource, revision] of floors) this.#raiseFloor.run(resource, revision);
    });
  }

  /** Restarts the log without truncating it: overwriting the file is twice as fast as extending it. */
  checkpoint(): void {
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
