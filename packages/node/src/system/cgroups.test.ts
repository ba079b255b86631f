import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { detectCgroups } from "./cgroups.ts";

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

test("version 1 is a tree for each controller, also beside an empty version 2", async () => {
  for (const tree of ["memory", "pids", "unified"]) mkdirSync(join(root, tree));
  writeFileSync(join(root, "unified", "cgroup.controllers"), "\n");
  const cgroups = await detectCgroups(root);
  expect([cgroups.version, cgroups.swapAccounting]).toEqual([1, false]);
  expect(cgroups.folders("/a").toSorted()).toEqual(["memory", "pids", "unified"].map((tree) => join(root, tree, "a")));
  expect(cgroups.processFolder("/a")).toBe(join(root, "pids/a"));
  expect(cgroups.controllerFolder("memory", "/a")).toBe(join(root, "memory/a"));
  expect(cgroups.execArgument("exec-1")).toBe("pids:exec-1");
});

test("a machine with neither is refused with what is missing", async () => {
  mkdirSync(join(root, "memory"));
  await expect(detectCgroups(root)).rejects.toThrow(`Cannot use control groups at "${root}"`);
});
