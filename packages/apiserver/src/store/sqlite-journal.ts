import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Compaction, Journal, JournalRow, LoadedJournal } from "./journal.ts";

/** "ASBX": marks the file as ours, at the offset SQLite keeps for that purpose. */
const applicationId = 0x41534258;
const schemaVersion = 1;

/**
 * A write-ahead log about this long is folded into the main file even when the store never rests: some ten milliseconds
 * once in a few hundred commits.
 */
const maxLogBytes = 4 * 1024 * 1024;
/** What a commit writes beside its rows: the pages above them. */
const commitBytes = 3 * 4096;

const createSchema = `
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
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

/**
 * Reads a journal file without changing it: a file that is not ours, is of a newer version or is damaged is refused and
 * left as it was. `use` sees the rows one by one and must be done with them when it returns. The caller holds the
 * folder's lock.
 */
export function readJournal<T>(path: string, use: (journal: LoadedJournal) => T): T {
  if (!existsSync(path) || statSync(path).size === 0) return use({ rows: [], floors: new Map() });
  checkHeader(path);
  let database: DatabaseSync | undefined;
  try {
    // A read-only connection cannot fold the log into the main file when it closes.
    database = new DatabaseSync(path, { readOnly: true });
    const floors = database.prepare("SELECT resource, revision FROM floors").all();
    const rows = database.prepare("SELECT * FROM log ORDER BY revision").iterate();
    return use({
      rows: rows.map(toRow),
      floors: new Map(floors.map(({ resource, revision }) => [String(resource), Number(revision)])),
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read store "${path}": the file is damaged (${why}); restore it from a copy`, {
      cause: error,
    });
  } finally {
    database?.close();
  }
}

function checkHeader(path: string): void {
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  const length = readSync(file, header, 0, 100, 0);
  closeSync(file);
  if (length < 100 || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw new Error(`Cannot read store "${path}": it is not a database; move it away or choose another data folder`);
  }
  if (header.readUInt32BE(68) !== applicationId) {
    throw new Error(`Cannot read store "${path}": it belongs to another program; choose another data folder`);
  }
  const version = header.readUInt32BE(60);
  if (version !== schemaVersion) {
    throw new Error(`Cannot read store "${path}": its format is ${version}, this program reads ${schemaVersion}`);
  }
}

function toRow(row: Record<string, unknown>): JournalRow {
  return {
    revision: Number(row["revision"]),
    resource: String(row["resource"]),
    key: String(row["key"]),
    previous: row["previous"] === null ? undefined : Number(row["previous"]),
    atMs: Number(row["at_ms"]),
    object: typeof row["object"] === "string" ? row["object"] : undefined,
  };
}

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
