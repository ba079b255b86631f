import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBeneath } from "./beneath.ts";

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "beneath-"));
  await mkdir(join(base, "a"));
  await writeFile(join(base, "a/file"), "x");
  await symlink("/etc", join(base, "out"));
  await symlink("a", join(base, "in"));
});
afterAll(() => rm(base, { recursive: true }));

test.for([
  ["", true],
  ["a", true],
  ["./a//file", false],
] as const)("finds %j", async ([path, isFolder]) => {
  await using found = await openBeneath(base, path);
  expect((await found.stat()).isDirectory()).toBe(isFolder);
});

test.for([
  ["../x", "leads out of its folder"],
  ["a/../../x", "leads out of its folder"],
  ["out/passwd", "is a link"],
  ["out", "is a link"],
  ["in/file", "is a link"],
  ["a/missing", "ENOENT"],
  ["a/file/x", "ENOTDIR"],
] as const)("refuses %j", async ([path, message]) => {
  await expect(openBeneath(base, path)).rejects.toThrow(message);
});

test("creates missing folders on request", async () => {
  await using made = await openBeneath(base, "new/deep", { makeMode: 0o755 });
  expect((await made.stat()).ino).toBe((await stat(join(base, "new/deep"))).ino);
});
