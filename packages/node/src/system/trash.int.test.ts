import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { soon } from "../testing/test-box.ts";
import { libc, mountFlags } from "./libc.ts";
import { unmount } from "./mounts.ts";
import { Trash } from "./trash.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "trash-"));
  mkdirSync(join(base, "tree/deep"), { recursive: true });
  writeFileSync(join(base, "tree/deep/file"), "");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const waiting = (): string[] => (existsSync(join(base, "trash")) ? readdirSync(join(base, "trash")) : []);

test("a path can be used again at once, and the folder is removed later", async () => {
  await using trash = new Trash(join(base, "trash"));
  await trash.discard(join(base, "tree"));
  expect([existsSync(join(base, "tree")), waiting().length]).toEqual([false, 1]);
  trash.start();
  await expect.poll(waiting, soon).toEqual([]);
  await trash.discard(join(base, "missing"));
  mkdirSync(join(base, "tree"));
  await trash.discard(join(base, "tree"));
  await expect.poll(waiting, soon).toEqual([]);
});

test("folders of an earlier process are removed", async () => {
  await new Trash(join(base, "trash")).discard(join(base, "tree"));
  await using trash = new Trash(join(base, "trash"));
  trash.start();
  await expect.poll(waiting, soon).toEqual([]);
});

test("a link is removed without its target", async () => {
  await using trash = new Trash(join(base, "trash"));
  trash.start();
  symlinkSync(join(base, "tree"), join(base, "link"));
  await trash.discard(join(base, "link"));
  await expect.poll(waiting, soon).toEqual([]);
  expect(readdirSync(join(base, "tree/deep"))).toEqual(["file"]);
});

test("a folder with a mount below it stays in place", async () => {
  await using trash = new Trash(join(base, "trash"));
  mkdirSync(join(base, "other/point"), { recursive: true });
  libc().mount(join(base, "tree"), join(base, "other/point"), { flags: mountFlags.bind });
  try {
    await expect(trash.discard(join(base, "other"))).rejects.toThrow("is still mounted");
  } finally {
    await unmount([join(base, "other/point")]);
  }
  expect([readdirSync(join(base, "tree/deep")), waiting()]).toEqual([["file"], []]);
});
