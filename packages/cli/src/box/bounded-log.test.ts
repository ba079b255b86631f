import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepBounded } from "./bounded-log.ts";

let folder: string;
let path: string;
let log: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bounded-log-"));
  path = join(folder, "box.log");
  log = openSync(path, "a");
});
afterEach(() => {
  closeSync(log);
  rmSync(folder, { recursive: true });
});

test("rotates a log that is too long, while it is open, and keeps the previous one", async () => {
  writeSync(log, "0123456789");
  using _bound = keepBounded(path, { bytes: 9, ms: 5 });
  expect([readFileSync(path, "utf8"), readFileSync(`${path}.1`, "utf8")]).toEqual(["", "0123456789"]);
  writeSync(log, "abcdefghij");
  await expect.poll(() => readFileSync(`${path}.1`, "utf8")).toBe("abcdefghij");
  writeSync(log, "short");
  expect(readFileSync(path, "utf8")).toBe("short");
});

test("does not rotate a short log", () => {
  writeSync(log, "123");
  keepBounded(path, { bytes: 9 })[Symbol.dispose]();
  expect(existsSync(`${path}.1`)).toBe(false);
});
