import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BoxPaths, boxPaths } from "./box-paths.ts";
import {
  findRunningBox,
  forgetRunningBox,
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

test("a recorded box is found and forgotten", () => {
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

test("a torn record does not count", () => {
  writeFileSync(paths.record, '{"pid": 1');
  expect(findRunningBox(paths)).toBeUndefined();
});

test("builds of the program are told apart by what is in it", () => {
  const script = join(paths.dataDir, "main.mjs");
  writeFileSync(script, 'import "./chunk-A.mjs"');
  const before = programBuild(script);
  expect(programBuild(script)).toBe(before);
  writeFileSync(script, 'import "./chunk-B.mjs"');
  expect(programBuild(script)).not.toBe(before);
  expect(programBuild(join(paths.dataDir, "none"))).toBe("unknown");
});

test("a folder that may not be read is told apart from one without a box", () => {
  const denied = Object.assign(new Error("EACCES"), { code: "EACCES" });
  expect(whyHidden(denied, paths)?.message).toContain("it belongs to somebody else; run it with sudo");
  expect(whyHidden(Object.assign(new Error("ENOENT"), { code: "ENOENT" }), paths)).toBeUndefined();
});
