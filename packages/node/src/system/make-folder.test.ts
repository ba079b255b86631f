import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "make-folder-"));
});
afterEach(() => rmSync(root, { recursive: true }));

test("creates missing folders and returns the first", async () => {
  expect(await makeFolder(join(root, "a", "b", "c"))).toBe(join(root, "a"));
  expect(statSync(join(root, "a", "b", "c")).mode & 0o777).toBe(0o700);
  expect(await makeFolder(join(root, "a", "b", "d"))).toBe(join(root, "a", "b", "d"));
  expect(await makeFolder(join(root, "a", "b"))).toBeUndefined();
});

test("the error names a file in the path", async () => {
  writeFileSync(join(root, "file"), "");
  await expect(makeFolder(join(root, "file"))).rejects.toThrow("there is a file of that name");
  await expect(makeFolder(join(root, "file", "below"))).rejects.toThrow(`"${join(root, "file", "below")}": not a dir`);
});

test("a filesystem without folders is an error", async () => {
  await expect(makeFolder("/proc/none/below")).rejects.toThrow('Cannot make folder "/proc/none": no such file');
});
