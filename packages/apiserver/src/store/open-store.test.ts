import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../clock.ts";
import { silentLogger } from "../logger.ts";
import { openStore } from "./open-store.ts";
import type { Store } from "./store.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (): Store => openStore(folder, { clock: systemClock, logger: silentLogger });
const file = (): string => join(folder, "store.db");
const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

async function fill(store: Store, count: number): Promise<void> {
  const value = "x".repeat(2000);
  await Promise.all(
    Array.from({ length: count }, (_, at) =>
      store.write((_view, revision) => {
        const metadata = { name: `k${at}`, resourceVersion: String(revision) };
        return {
          write: { resource: "things", key: `k${at}`, object: { apiVersion: "v1", kind: "T", metadata, value } },
          result: 0,
        };
      }),
    ),
  );
}

describe("openStore()", () => {
  test("restores what was saved", async () => {
    const first = open();
    await fill(first, 10);
    const objects = [...first.list("things")];
    await first.close();
    const second = open();
    expect([...second.list("things")]).toEqual(objects);
    expect(second.revision).toBe(10);
    await second.close();
  });

  test("refuses a folder that is in use, and names the process that uses it", async () => {
    const store = open();
    expect(open).toThrow(`Cannot open data folder "${folder}": it is in use by process ${process.pid}`);
    await store.close();
    await open().close();
  });

  test("makes its folder and files readable only for their owner", async () => {
    const inner = join(folder, "new");
    const store = openStore(inner, { clock: systemClock, logger: silentLogger });
    await fill(store, 1);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
    expect(statSync(join(inner, "store.db")).mode & 0o777).toBe(0o600);
    expect(statSync(join(inner, "store.db-wal")).mode & 0o777).toBe(0o600);
    await store.close();
  });

  test("refuses a file that is not a database, and does not change it", () => {
    writeFileSync(file(), "this is a letter, not a database. ".repeat(20));
    const before = digest(file());
    expect(open).toThrow(/is not a database/);
    expect(digest(file())).toBe(before);
  });

  test("refuses the database of another program, and does not change it", () => {
    const other = new DatabaseSync(file());
    other.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')");
    const main = digest(file());
    const log = digest(`${file()}-wal`);
    expect(open).toThrow(/belongs to another program/);
    expect([digest(file()), digest(`${file()}-wal`)]).toEqual([main, log]);
    other.close();
  });

  test("refuses a newer format", async () => {
    await open().close();
    const database = new DatabaseSync(file());
    database.exec("PRAGMA user_version = 99");
    database.close();
    expect(open).toThrow(/its format is 99, this program reads 1/);
  });

  test("refuses a truncated file, and does not change it or its write-ahead log", async () => {
    const store = open();
    await fill(store, 50);
    await store.close();
    truncateSync(file(), statSync(file()).size - 3 * 4096);
    const before = digest(file());
    expect(open).toThrow(/is damaged/);
    expect(digest(file())).toBe(before);
  });

  test("refuses overwritten pages", async () => {
    const store = open();
    await fill(store, 50);
    await store.close();
    const bytes = readFileSync(file());
    bytes.fill(0xaa, 3 * 4096, 6 * 4096);
    writeFileSync(file(), bytes);
    expect(open).toThrow(/damaged/);
    expect(digest(file())).toBe(createHash("sha256").update(bytes).digest("hex"));
  });

  test("reads writes that are only in the write-ahead log after a crash", async () => {
    const store = open();
    await fill(store, 5);
    const copy = mkdtempSync(join(tmpdir(), "apiserver-copy-"));
    for (const name of ["store.db", "store.db-wal"]) copyFileSync(join(folder, name), join(copy, name));
    await store.close();
    chmodSync(copy, 0o700);
    const again = openStore(copy, { clock: systemClock, logger: silentLogger });
    expect([...again.list("things")]).toHaveLength(5);
    await again.close();
    rmSync(copy, { recursive: true });
  });
});
