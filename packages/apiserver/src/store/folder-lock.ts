import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface FolderLock {
  release(): void;
}

/**
 * Locks a data folder for this process. SQLite uses a lock of the kernel, which is released when the process ends in any
 * way, so there are no stale locks. The pid file is only for the error message.
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
  // The folder can be open to a group, whose members could otherwise hold the lock.
  chmodSync(join(folder, "lock"), 0o600);
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
