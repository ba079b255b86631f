import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { giveToGroup } from "./group-ownership.ts";

let base: string;
let volume: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "group-"));
  volume = join(base, "volume");
  mkdirSync(join(volume, "folder"), { recursive: true });
  writeFileSync(join(base, "outside"), "");
  chmodSync(join(base, "outside"), 0o600);
  chownSync(join(base, "outside"), 0, 0);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const facts = (path: string): [number, string] => [statSync(path).gid, (statSync(path).mode & 0o7777).toString(8)];

test("sets the group of files and folders, and not of link targets and pipes", async () => {
  writeFileSync(join(volume, "folder/file"), "");
  linkSync(join(volume, "folder/file"), join(volume, "second-name"));
  symlinkSync(join(base, "outside"), join(volume, "link"));
  symlinkSync(base, join(volume, "folder-link"));
  execFileSync("mkfifo", [join(volume, "pipe")]);
  await giveToGroup(volume, 4321);
  expect([facts(volume), facts(join(volume, "folder")), facts(join(volume, "second-name"))]).toEqual([
    [4321, "2775"],
    [4321, "2775"],
    [4321, "664"],
  ]);
  expect([facts(join(base, "outside")), facts(base)[0]]).toEqual([[0, "600"], 0]);
});

test("refuses a volume that is a symbolic link", async () => {
  symlinkSync(volume, join(base, "link"));
  await expect(giveToGroup(join(base, "link"), 4321)).rejects.toThrow(/ENOTDIR|ELOOP/);
});

test("refuses a tree that would exhaust the node's file descriptors", async () => {
  const script = 'cd "$1"; i=0; while [ $i -lt 400 ]; do mkdir d; cd d; i=$((i+1)); done';
  execFileSync("sh", ["-c", script, "sh", volume]);
  await expect(giveToGroup(volume, 4321)).rejects.toThrow("more than 200 folders deep");
});
