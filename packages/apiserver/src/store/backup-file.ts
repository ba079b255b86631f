import { closeSync, createReadStream, createWriteStream, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip, type Gzip } from "node:zlib";
import { readFileIfAny } from "../private-file.ts";
import type { LoadedJournal } from "./journal.ts";
import { type JournalFormat, readJournal } from "./read-journal.ts";

/** The id is "ASBB", so that a backup cannot be opened as a store, or a store as a backup. */
const format: JournalFormat = { applicationId: 0x41534242, version: 1, what: "backup" };

/** The server's identity and the keys of its credentials, so that clients keep working with the restored server. */
const identityFiles = ["ca.key", "ca.crt", "server.key", "server.crt", "service-account.key", "admin.token"];

/**
 * Copies a store and the server's identity into a new database file. Writes can continue: the copy shows the store at one
 * moment between the start and the end of the call.
 */
export async function copyStore(store: DatabaseSync, folder: string, path: string): Promise<void> {
  await copyPages(store, path);
  const copy = new DatabaseSync(path);
  try {
    copy.exec("PRAGMA journal_mode = DELETE; BEGIN; CREATE TABLE files (name TEXT PRIMARY KEY, content TEXT) STRICT");
    const insert = copy.prepare("INSERT INTO files VALUES (?, ?)");
    for (const name of identityFiles) {
      const content = readFileIfAny(join(folder, name));
      if (content !== undefined) insert.run(name, content);
    }
    copy.exec(`PRAGMA application_id = ${format.applicationId}; PRAGMA user_version = ${format.version}; COMMIT`);
  } finally {
    copy.close();
  }
}

/** About one attempt in fifty fails under a steady load of writes. Ten failures in a row have another cause. */
const maxAttempts = 10;

/** SQLite's backup thread shares the connection of the store and fails if a transaction interferes, so this retries. */
async function copyPages(store: DatabaseSync, path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    rmSync(path, { force: true });
    closeSync(openSync(path, "wx", 0o600));
    try {
      await backup(store, path);
      return;
    } catch (error) {
      if (attempt === maxAttempts) throw error;
    }
  }
}

/** Compresses a copy. The checksum of gzip also detects damage. */
export function packCopy(path: string): Gzip {
  const packed = createGzip({ level: 1 });
  const copy = createReadStream(path).once("error", (error) => packed.destroy(error));
  packed.once("close", () => {
    copy.destroy();
    rmSync(path, { force: true });
  });
  return copy.pipe(packed);
}

export async function unpackCopy(file: string, path: string, signal?: AbortSignal): Promise<void> {
  try {
    await pipeline(createReadStream(file), createGunzip(), createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    // The backup is valid, but the disk has no space for it.
    if (["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read backup "${file}": it is not one, or it is damaged (${why})`, { cause: error });
  }
}

export interface LoadedBackup {
  readonly journal: LoadedJournal;
  readonly files: ReadonlyMap<string, string>;
}

/** Reads an unpacked copy. Throws if it is not a backup, has a newer format or fails SQLite's integrity check. */
export function readCopy<T>(path: string, use: (backup: LoadedBackup) => T): T {
  return readJournal(
    path,
    (journal, database) => {
      const [check] = database.prepare("PRAGMA integrity_check(1)").all();
      if (check?.["integrity_check"] !== "ok") throw new Error(String(check?.["integrity_check"]));
      const files = database.prepare("SELECT name, content FROM files").all();
      const known = files.filter(({ name }) => identityFiles.includes(String(name)));
      return use({ journal, files: new Map(known.map(({ name, content }) => [String(name), String(content)])) });
    },
    format,
  );
}
