import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { silentLogger } from "../logger.ts";
import type { JournalRow } from "./journal.ts";
import { MovingJournal } from "./moving-journal.ts";
import { readJournal } from "./read-journal.ts";

const never = 1_000_000;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "moving-journal-"));
  folders.push(folder);
  return folder;
}

const row = (revision: number): JournalRow => ({
  revision,
  resource: "things",
  key: `k${revision}`,
  previous: undefined,
  atMs: 0,
  object: `{"metadata":{"name":"k${revision}"}}`,
});

const open = (path: string, moveAfterMs = never): MovingJournal =>
  new MovingJournal({ path, logger: silentLogger, moveAfterMs });

const saved = (path: string): number[] => readJournal(path, ({ rows }) => [...rows].map(({ revision }) => revision));

describe("MovingJournal", () => {
  test("saves every row, in order, before, while and after it moves", async () => {
    const path = join(freshFolder(), "store.db");
    const journal = open(path);
    let revision = 0;
    const append = (): Promise<void> => journal.append([row((revision += 1))]);
    const calls = [append()];
    const moved = journal.move();
    while (!journal.isInThread) {
      calls.push(append());
      await new Promise((next) => void setImmediate(next));
    }
    calls.push(append(), append());
    await Promise.all([moved, ...calls]);
    await journal.close();
    expect(saved(path)).toEqual(Array.from({ length: revision }, (_, at) => at + 1));
  });

  test("moves by itself", async () => {
    const path = join(freshFolder(), "store.db");
    const journal = open(path, 1);
    await journal.append([row(1)]);
    await expect.poll(() => journal.isInThread).toBe(true);
    await journal.append([row(2)]);
    await journal.close();
    expect(saved(path)).toEqual([1, 2]);
  });

  test.each([
    { when: "before it moves" },
    { when: "while its thread starts", moves: true },
    { when: "once it has moved", moves: true, waits: true },
  ])("closes $when, with nothing left in a log", async ({ moves, waits }) => {
    const path = join(freshFolder(), "store.db");
    const journal = open(path);
    await journal.append([row(1)]);
    const moved = moves === true ? journal.move() : undefined;
    if (waits === true) await moved;
    await journal.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(saved(path)).toEqual([1]);
  });

  test("tells of rows that cannot be saved wherever it is, and goes on", async () => {
    const path = join(freshFolder(), "store.db");
    const journal = open(path);
    for (const first of [1, 3]) {
      await journal.append([row(first)]);
      await expect(journal.append([row(first)])).rejects.toThrow("UNIQUE constraint failed");
      await journal.append([row(first + 1)]);
      await journal.move();
    }
    await journal.close();
    expect(saved(path)).toEqual([1, 2, 3, 4]);
  });

  test("is copied by its thread", async () => {
    const folder = freshFolder();
    const journal = open(join(folder, "store.db"));
    await journal.append([row(1)]);
    const copied = journal.backUp(folder, join(folder, "copy"));
    await journal.append([row(2)]);
    await copied;
    expect(journal.isInThread).toBe(true);
    expect(existsSync(join(folder, "copy"))).toBe(true);
    await journal.close();
  });
});
