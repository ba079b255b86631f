import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { detectCgroups, hasRunOutOfMemory } from "./cgroups.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cgroups-"));
});
afterEach(() => rmSync(root, { recursive: true }));

test("version 2 is one tree", async () => {
  writeFileSync(join(root, "cgroup.controllers"), "cpu memory pids\n");
  const cgroups = await detectCgroups(root);
  expect([cgroups.version, cgroups.swapAccounting]).toEqual([2, true]);
  expect(cgroups.folders("/a/b")).toEqual([join(root, "a/b")]);
  expect(cgroups.processFolder("/a")).toBe(join(root, "a"));
  expect(cgroups.controllerFolder("memory", "/a")).toBe(join(root, "a"));
  expect(cgroups.execArgument("exec-1")).toBe("exec-1");
});

test("version 1 has a tree for each controller, also on a hybrid machine", async () => {
  for (const tree of ["memory", "pids", "unified"]) mkdirSync(join(root, tree));
  writeFileSync(join(root, "unified", "cgroup.controllers"), "\n");
  const cgroups = await detectCgroups(root);
  expect([cgroups.version, cgroups.swapAccounting]).toEqual([1, false]);
  expect(cgroups.folders("/a").toSorted()).toEqual(["memory", "pids", "unified"].map((tree) => join(root, tree, "a")));
  expect(cgroups.processFolder("/a")).toBe(join(root, "pids/a"));
  expect(cgroups.controllerFolder("memory", "/a")).toBe(join(root, "memory/a"));
  expect(cgroups.execArgument("exec-1")).toBe("pids:exec-1");
});

test.for([
  ["version 1", ["memory", "pids"], "memory/a", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill "],
  ["version 2", [], "a", "memory.events", "max 9\noom 2\noom_kill "],
] as const)("counts processes that the kernel killed for want of memory: %s", async ([, trees, folder, file, text]) => {
  for (const tree of trees) mkdirSync(join(root, tree));
  if (trees.length === 0) writeFileSync(join(root, "cgroup.controllers"), "memory pids\n");
  const cgroups = await detectCgroups(root);
  expect(await hasRunOutOfMemory(cgroups, "/a")).toBe(false);
  mkdirSync(join(root, folder));
  for (const [count, expected] of [
    ["0", false],
    ["3", true],
  ] as const) {
    writeFileSync(join(root, folder, file), `${text}${count}\n`);
    expect(await hasRunOutOfMemory(cgroups, "/a")).toBe(expected);
  }
});

test("a machine without cgroups is refused with a message", async () => {
  mkdirSync(join(root, "memory"));
  await expect(detectCgroups(root)).rejects.toThrow(`Cannot use control groups at "${root}"`);
});
