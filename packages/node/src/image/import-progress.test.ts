import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bytesIn, type ImportProgress, watchFetch } from "./import-progress.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "import-progress-"));
  mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
  writeFileSync(join(folder, "blobs/sha256/old"), "x".repeat(1000));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("adds up files of all folders, and nothing that links point to", async () => {
  symlinkSync("/etc/services", join(folder, "link"));
  expect(await bytesIn([folder, join(folder, "missing")])).toBe(1000);
});

test("reports what was fetched since it began, until it is disposed", async () => {
  const seen: ImportProgress[] = [];
  const watch = await watchFetch([folder], (progress) => seen.push(progress));
  appendFileSync(join(folder, "blobs/sha256/new"), "y".repeat(500));
  await vi.waitFor(() => expect(seen).toContainEqual({ stage: "fetching", bytes: 500 }), { timeout: 20_000 });
  watch[Symbol.dispose]();
  seen.length = 0;
  appendFileSync(join(folder, "blobs/sha256/new"), "y".repeat(500));
  expect(seen).toEqual([]);
});
