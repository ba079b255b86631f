import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newestChange } from "./newest-change.ts";

let folder: string;
/** Sets the times of a file or folder, in seconds since 1970. */
const setTime = (path: string, seconds: number): void => utimesSync(join(folder, path), seconds, seconds);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "newest-change-"));
  mkdirSync(join(folder, "inner/dist"), { recursive: true });
  for (const path of ["a.ts", "inner/b.ts", "inner/dist/c.js"]) {
    writeFileSync(join(folder, path), "");
    setTime(path, 100);
  }
  for (const path of ["inner/dist", "inner", "."]) setTime(path, 100);
});
afterEach(() => rmSync(folder, { recursive: true }));

test("the newest file counts, at any depth", () => {
  expect(newestChange([folder])).toBe(100_000);
  setTime("inner/b.ts", 200);
  expect(newestChange([folder])).toBe(200_000);
  expect(newestChange([join(folder, "a.ts")])).toBe(100_000);
});

test.for<[string, () => void]>([
  ["added", () => writeFileSync(join(folder, "inner/new.ts"), "")],
  ["renamed", () => renameSync(join(folder, "inner/b.ts"), join(folder, "inner/c.ts"))],
  ["removed", () => rmSync(join(folder, "inner/b.ts"))],
])("a file that is %s counts", ([, change]) => {
  change();
  expect(newestChange([folder])).toBeGreaterThan(200_000);
});

test("built files do not count", () => {
  setTime("inner/dist/c.js", 300);
  expect(newestChange([folder])).toBe(100_000);
});
