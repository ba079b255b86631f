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

const follow = (): FollowOptions => ({ news: folder, isWritten: async () => isWritten });

const readings: Reading[] = [];

class Reading {
  readonly stop = new AbortController();
  readonly #items: AsyncGenerator<LogItem>;

  constructor(options: { from?: "end"; follow?: FollowOptions } = {}) {
    this.#items = readLogFile({ path, signal: this.stop.signal, ...options });
    readings.push(this);
  }

  /** An abandoned reading would keep its file open. */
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
  test("gives the lines that are there", async () => {
    await writeFile(path, `a\n${"b".repeat(100_000)}\nc\nnot yet complete`);
    const [first, long, ...rest] = await new Reading().all();
    expect([first, rest]).toEqual(["a", ["c", "caught-up"]]);
    // Nobody writes entries this long; what counts is that those after it are whole.
    expect(long?.length).toBeGreaterThan(0);
  });

  test("takes a file that is not there for an empty one", async () => {
    expect(await new Reading().all()).toEqual(["caught-up"]);
  });

  test("follows what is appended, from where it was told to begin, to the end", async () => {
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

  test("reads a file to its end before the one that replaced it", async () => {
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

  test("starts again with a file that was emptied", async () => {
    await writeFile(path, "a long line\n");
    const reading = new Reading({ follow: follow() });
    expect([await reading.next(), await reading.next()]).toEqual(["a long line", "caught-up"]);
    await truncate(path, 0);
    await appendFile(path, "short\n");
    expect(await reading.next()).toBe("short");
    reading.stop.abort();
  });

  test("stops when it is told to", async () => {
    const reading = new Reading({ follow: follow() });
    expect(await reading.next()).toBe("caught-up");
    const next = reading.next();
    reading.stop.abort();
    expect(await next).toBeUndefined();
  });
});
