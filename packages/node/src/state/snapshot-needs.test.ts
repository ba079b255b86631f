import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { needsOf, sharesBlocks } from "./snapshot-needs.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "needs-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("a snapshot needs its files and its memory, which counts in the quota later", async () => {
  await mkdir(join(root, "layer"));
  await writeFile(join(root, "layer", "data"), Buffer.alloc(1 << 20, 1));
  const folders = [join(root, "layer"), join(root, "missing")];
  const needs = await needsOf(root, { folders, memoryBytes: 1000, linkedBytes: 100 });
  const files = needs.bytes - 100;
  expect(files).toBeGreaterThanOrEqual(1 << 20);
  expect(files).toBeLessThan(2 << 20);
  // Copies use no space where files share their blocks.
  expect(needs.diskBytes).toBe((await sharesBlocks(root)) ? 1000 : files + 1000);
  expect(await readdir(root)).toEqual(["layer"]);
});

test("a snapshot without files needs its memory only", async () => {
  expect(await needsOf(root, { folders: [], memoryBytes: 7 })).toEqual({ bytes: 0, diskBytes: 7 });
});
