import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface FolderLock {
  release(): void;
}

/**
 * Makes this process the only one that uses a data folder. SQLite's file lock is the kernel's: it goes with the process,
 * however that ends, so there is no stale lock to clean up. The pid file only serves the error message.
 */
export function lockFolder(folder: string): FolderLock {
  const pidFile = join(folder, "server.pid");
  const database = new DatabaseSync(join(folder, "lock"), { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw new Error(`Cannot open data folder "${folder}": it is in use by ${holder(pidFile)}`, { cause: error });
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    release() {
      rmSync(pidFile, { force: true });
      database.close();
    },
  };
}

function holder(pidFile: string): string {
  try {
    const pid = readFileSync(pidFile, "utf8").trim();
    return /^\d+$/.test(pid) ? `process ${pid}` : "another process";
  } catch {
    return "another process";
  }
}
