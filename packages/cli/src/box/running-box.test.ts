import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BoxPaths, boxPaths } from "./box-paths.ts";
import { findRunningBox, forgetRunningBox, processStartOf, recordRunningBox } from "./running-box.ts";

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
