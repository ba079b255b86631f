import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { detectCgroups } from "../system/cgroups.ts";
import { cgroupUsage } from "./cgroup-usage.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cgroups-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
}

const expected = {
  cpuSeconds: 1.5,
  memoryBytes: 1000,
  workingSetBytes: 700,
  rssBytes: 400,
  cacheBytes: 500,
  processes: 3,
};

test("version 1: a tree for each controller", async () => {
  write({
    "cpuacct/box/pod/cpuacct.usage": "1500000000",
    "memory/box/pod/memory.usage_in_bytes": "1000",
    "memory/box/pod/memory.stat": "cache 1\ntotal_cache 500\ntotal_rss 400\ntotal_inactive_file 300",
    "pids/box/pod/pids.current": "3",
  });
  expect(await cgroupUsage(await detectCgroups(root), "/box/pod")).toEqual(expected);
});

test("version 2: one tree", async () => {
  write({
    "cgroup.controllers": "cpu memory pids",
    "box/pod/cpu.stat": "usage_usec 1500000\nuser_usec 1",
    "box/pod/memory.current": "1000",
    "box/pod/memory.stat": "anon 400\nfile 500\ninactive_file 300",
    "box/pod/pids.current": "3",
  });
  expect(await cgroupUsage(await detectCgroups(root), "/box/pod")).toEqual(expected);
});

test.for(["cgroup.controllers", "pids/pids.max"])("a missing cgroup has no usage (%s)", async (mark) => {
  write({ [mark]: "" });
  expect(await cgroupUsage(await detectCgroups(root), "/box/pod")).toBeUndefined();
});
