import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { JournalRow } from "./journal.ts";
import { readJournal } from "./read-journal.ts";
import { ThreadJournal } from "./thread-journal.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function freshPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "thread-journal-"));
  folders.push(folder);
  return join(folder, "store.db");
}

const row = (revision: number, key = `k${revision}`): JournalRow => ({
  revision,
  resource: "things",
  key,
  previous: undefined,
  atMs: 0,
  object: `{"metadata":{"name":"${key}"}}`,
});

const saved = (path: string): number[] => readJournal(path, ({ rows }) => [...rows].map(({ revision }) => revision));

const outcomes = async (calls: readonly Promise<void>[]): Promise<string[]> => {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => (one.status === "fulfilled" ? "saved" : (one.reason as Error).message));
};

describe("ThreadJournal", () => {
  test("has saved, in the order of the calls, all that it said it has", async () => {
    const path = freshPath();
    const journal = new ThreadJournal();
    const calls = [journal.open(path), ...Array.from({ length: 50 }, (_, at) => journal.append([row(at + 1)]))];
    await Promise.all(calls);
    await journal.close();
    expect(saved(path)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
  });

  test("an append without rows waits for those before it", async () => {
    const journal = new ThreadJournal();
    const told: string[] = [];
    void journal.open(freshPath());
    const first = journal.append([row(1)]).then(() => told.push("rows"));
    await journal.append([]).then(() => told.push("none"));
    await first;
    expect(told).toEqual(["rows", "none"]);
    await journal.close();
  });

  test("saves nothing that was decided on a write that failed, and goes on with what comes later", async () => {
    const path = freshPath();
    const journal = new ThreadJournal();
    await journal.open(path);
    await journal.append([row(1)]);
    const failed = journal.append([row(1)]);
    await expect(failed).rejects.toThrow("UNIQUE constraint failed");
    await journal.append([row(2)]);

    const [broken, ...after] = [journal.append([row(3), row(2)]), journal.append([row(4)]), journal.append([row(5)])];
    expect((await outcomes([broken]))[0]).toContain("UNIQUE constraint failed");
    expect(await outcomes(after)).not.toContain("saved");
    await journal.append([row(6)]);
    await journal.close();
    expect(saved(path)).toEqual([1, 2, 6]);
  });

  test("house-keeping that fails leaves writes alone", async () => {
    const path = freshPath();
    const journal = new ThreadJournal();
    await journal.open(path);
    const backUp = journal.backUp("/nowhere", "/nowhere/backup");
    const write = journal.append([row(1)]);
    await expect(backUp).rejects.toThrow("ENOENT");
    await write;
    await journal.append([row(2)]);
    await journal.close();
    expect(saved(path)).toEqual([1, 2]);
  });

  test("says why nothing can be saved when the file could not be opened", async () => {
    const journal = new ThreadJournal();
    const path = join(freshPath(), "in a file that is no folder");
    const calls = await outcomes([journal.open(path), journal.append([row(1)]), journal.tidy()]);
    for (const message of calls) expect(message).toMatch(/ENOENT|unable to open/);
    await journal.close();
  });

  test("refuses calls after its end", async () => {
    const journal = new ThreadJournal();
    await journal.open(freshPath());
    await journal.close();
    await expect(journal.append([row(1)])).rejects.toThrow("the thread of the journal has ended");
    await journal.close();
  });

  test("forgets rows and folds its log", async () => {
    const path = freshPath();
    const journal = new ThreadJournal();
    await journal.open(path);
    await journal.append([row(1), row(2)]);
    await journal.compact({ revisions: [1], floors: new Map([["things", 1]]) });
    await journal.tidy();
    await journal.close();
    expect(saved(path)).toEqual([2]);
    expect(readJournal(path, ({ floors }) => floors.get("things"))).toBe(1);
  });
});
