import { spawnSync } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cloneTree, linkTree, refillTree } from "./clone-tree.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "clone-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a clone has the links, modes and contents of its source, and does not change with it", async () => {
  const [source, target] = [join(folder, "source"), join(folder, "target")];
  await mkdir(source);
  await writeFile(join(folder, "secret"), "of the machine");
  await writeFile(join(source, "file"), "before", { mode: 0o640 });
  await symlink(join(folder, "secret"), join(source, "link"));
  spawnSync("mkfifo", [join(source, "pipe")]);
  await cloneTree(source, target);
  await writeFile(join(source, "file"), "after");
  expect(await readFile(join(target, "file"), "utf8")).toBe("before");
  expect((await stat(join(target, "file"))).mode & 0o777).toBe(0o640);
  expect(await readlink(join(target, "link"))).toBe(join(folder, "secret"));
  expect((await lstat(join(target, "pipe"))).isFIFO()).toBe(true);
});

test("a folder is refilled without being replaced", async () => {
  const [source, target] = [join(folder, "source"), join(folder, "target")];
  for (const name of [source, target]) await mkdir(join(name, "deep"), { recursive: true });
  await writeFile(join(source, "deep", "new"), "new");
  await writeFile(join(target, "deep", "old"), "old");
  const { ino } = await stat(target);
  await refillTree(source, target);
  expect((await stat(target)).ino).toBe(ino);
  expect(await readdir(join(target, "deep"))).toEqual(["new"]);
});

test("a folder of links shares its files", async () => {
  const [source, target] = [join(folder, "source"), join(folder, "target")];
  await mkdir(source);
  await writeFile(join(source, "file"), "x");
  await linkTree(source, target);
  expect((await stat(join(target, "file"))).ino).toBe((await stat(join(source, "file"))).ino);
});

test("a folder that does not exist cannot be cloned", async () => {
  await expect(cloneTree(join(folder, "nothing"), join(folder, "target"))).rejects.toThrow("Cannot run");
});
