import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { JournalRow, LoadedJournal } from "./journal.ts";
import { StoreError } from "./store-error.ts";

/** Identifies a file format by the `application_id` and `user_version` in the header of a SQLite file. */
export interface JournalFormat {
  readonly applicationId: number;
  readonly version: number;
  /** The name in error messages. */
  readonly what: string;
}

/** The id is "ASBX". */
export const storeFormat: JournalFormat = { applicationId: 0x41534258, version: 1, what: "store" };

/**
 * Reads a journal file without changing it. Throws if the file has another format, a newer version or is damaged. `use`
 * must read the rows before it returns. The caller must hold the lock of the folder.
 */
export function readJournal<T>(
  path: string,
  use: (journal: LoadedJournal, database: DatabaseSync) => T,
  format: JournalFormat = storeFormat,
): T {
  const isNew = !existsSync(path) || statSync(path).size === 0;
  if (isNew && format === storeFormat) {
    using nothing = new DatabaseSync(":memory:");
    return use({ rows: [], floors: new Map() }, nothing);
  }
  checkHeader(path, format);
  let database: DatabaseSync | undefined;
  try {
    // A read-only connection does not merge the write-ahead log into the main file when it closes.
    database = new DatabaseSync(path, { readOnly: true });
    const floors = database.prepare("SELECT resource, revision FROM floors").all();
    const rows = database.prepare("SELECT * FROM log ORDER BY revision").iterate();
    const loaded = {
      rows: rows.map(toRow),
      floors: new Map(floors.map(({ resource, revision }) => [String(resource), Number(revision)])),
    };
    return use(loaded, database);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // A store with a write-ahead log cannot be opened on a full disk.
    if (isOfTheDisk(error))
      throw new StoreError("unreadable", `Cannot read ${format.what} "${path}": ${why}`, { cause: error });
    throw new StoreError("damaged", `Cannot read ${format.what} "${path}": the file is damaged (${why})`, {
      cause: error,
    });
  } finally {
    database?.close();
  }
}

/** SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN. The lower byte of an extended code is the code. */
const diskCodes: readonly number[] = [10, 13, 14];

const isOfTheDisk = (error: unknown): boolean =>
  diskCodes.includes(Number((error as { readonly errcode?: number }).errcode) & 0xff);

function checkHeader(path: string, { applicationId, version, what }: JournalFormat): void {
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  const length = readSync(file, header, 0, 100, 0);
  closeSync(file);
  if (length < 100 || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw new StoreError("damaged", `Cannot read ${what} "${path}": it is not a database`);
  }
  if (header.readUInt32BE(68) !== applicationId) {
    throw new StoreError("foreign", `Cannot read ${what} "${path}": it belongs to another program`);
  }
  const found = header.readUInt32BE(60);
  if (found !== version) {
    throw new StoreError(
      "otherVersion",
      `Cannot read ${what} "${path}": its format is ${found}, this program reads ${version}`,
    );
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
