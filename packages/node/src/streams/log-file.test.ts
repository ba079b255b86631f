import { appendFile, mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FollowOptions, type LogItem, readLogFile } from "./log-file.ts";

let folder: string;
let path: string;
let isWritten: boolean;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "log-file-"));
  path = join(folder, "0");
  isWritten = true;
});
afterEach(async () => {
  for (const reading of readings.splice(0)) await reading.end();
  await rm(folder, { recursive: true });
});

const follow = (): FollowOptions => ({ watch: folder, isWritten: async () => isWritten });

const readings: Reading[] = [];

class Reading {
  readonly stop = new AbortController();
  readonly #items: AsyncGenerator<LogItem>;

  constructor(options: { from?: "end"; follow?: FollowOptions } = {}) {
    this.#items = readLogFile({ path, signal: this.stop.signal, ...options });
    readings.push(this);
  }

  /** A reader that is not closed would keep its file open. */
  async end(): Promise<void> {
    this.stop.abort();
    await this.#items.return(undefined);
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.#items.next();
    return done ? undefined : String(value);
  }

  async all(): Promise<string[]> {
    const items: string[] = [];
    for await (const item of this.#items) items.push(String(item));
    return items;
  }
}

describe("readLogFile()", () => {
  test("returns the existing lines", async () => {
    await writeFile(path, `a\n${"b".repeat(100_000)}\nc\nnot yet complete`);
    const [first, long, ...rest] = await new Reading().all();
    expect([first, rest]).toEqual(["a", ["c", "caught-up"]]);
    // conmon writes no entries this long. The entries after it must be complete.
    expect(long?.length).toBeGreaterThan(0);
  });

  test("treats a missing file as empty", async () => {
    expect(await new Reading().all()).toEqual(["caught-up"]);
  });

  test("follows appended lines from the requested position until the log ends", async () => {
    await writeFile(path, "old\n");
    const reading = new Reading({ from: "end", follow: follow() });
    expect(await reading.next()).toBe("caught-up");
    const next = reading.next();
    await appendFile(path, "ne");
    await appendFile(path, "w\n");
    expect(await next).toBe("new");
    isWritten = false;
    await appendFile(path, "last\n");
    expect(await reading.all()).toEqual(["last"]);
  });

  test("reads a rotated file to its end before the new one", async () => {
    await writeFile(path, "one\n");
    const reading = new Reading({ follow: follow() });
    expect([await reading.next(), await reading.next()]).toEqual(["one", "caught-up"]);
    await appendFile(path, "two\n");
    await writeFile(`${path}.tmp`, "three\n");
    await rename(`${path}.tmp`, path);
    expect([await reading.next(), await reading.next()]).toEqual(["two", "three"]);
    reading.stop.abort();
    expect(await reading.all()).toEqual([]);
  });

  test("begins again after the file is truncated", async () => {
    await writeFile(path, "a long line\n");
    const reading = new Reading({ follow: follow() });
    expect([await reading.next(), await reading.next()]).toEqual(["a long line", "caught-up"]);
    await truncate(path, 0);
    await appendFile(path, "short\n");
    expect(await reading.next()).toBe("short");
    reading.stop.abort();
  });

  test("stops when the signal is aborted", async () => {
    const reading = new Reading({ follow: follow() });
    expect(await reading.next()).toBe("caught-up");
    const next = reading.next();
    reading.stop.abort();
    expect(await next).toBeUndefined();
  });
});
