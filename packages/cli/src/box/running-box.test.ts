import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BoxPaths, boxPaths } from "./box-paths.ts";
import {
  findRunningBox,
  forgetRunningBox,
  isEnding,
  processStartOf,
  programBuild,
  recordRunningBox,
  whyHidden,
} from "./running-box.ts";

let paths: BoxPaths;
beforeEach(() => {
  paths = boxPaths(mkdtempSync(join(tmpdir(), "box-")));
});
afterEach(() => rmSync(paths.dataDir, { recursive: true }));

test("a recorded box is found until its record is removed", () => {
  recordRunningBox(paths, { url: "https://127.0.0.1:1", routerUrl: "http://127.0.0.1:2" });
  expect(findRunningBox(paths)).toMatchObject({ pid: process.pid, url: "https://127.0.0.1:1" });
  forgetRunningBox(paths);
  expect(findRunningBox(paths)).toBeUndefined();
});

test.for([
  ["another process has taken the id", { pid: process.pid, processStart: "1" }],
  ["the process is gone", { pid: 2 ** 22 + 1, processStart: "1" }],
  ["the id is not a process", { pid: -1, processStart: processStartOf(1) }],
  ["the record has no id", {}],
])("a record does not count when %s", ([, record]) => {
  writeFileSync(paths.record, JSON.stringify(record));
  expect(findRunningBox(paths)).toBeUndefined();
});

test("ignores a record that is not complete", () => {
  writeFileSync(paths.record, '{"pid": 1');
  expect(findRunningBox(paths)).toBeUndefined();
});

test("distinguishes builds of the program by their content", () => {
  const script = join(paths.dataDir, "main.mjs");
  writeFileSync(script, 'import "./chunk-A.mjs"');
  const before = programBuild(script);
  expect(programBuild(script)).toBe(before);
  writeFileSync(script, 'import "./chunk-B.mjs"');
  expect(programBuild(script)).not.toBe(before);
  expect(programBuild(join(paths.dataDir, "none"))).toBe("unknown");
});

test("distinguishes an unreadable folder from one without a box", () => {
  const denied = Object.assign(new Error("EACCES"), { code: "EACCES" });
  expect(whyHidden(denied, paths)?.message).toContain("permission denied; run it with sudo");
  expect(whyHidden(Object.assign(new Error("ENOENT"), { code: "ENOENT" }), paths)).toBeUndefined();
});

test("distinguishes a killed process from a running one, before and after it is reaped", async () => {
  const child = spawn("sleep", ["1000"]);
  const exited = once(child, "exit");
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  expect(isEnding(pid)).toBe(false);
  child.kill("SIGKILL");
  expect(isEnding(pid)).toBe(true);
  await exited;
  expect(isEnding(pid)).toBe(true);
});
