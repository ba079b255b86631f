import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { takeLock } from "./file-lock.ts";

const folder = mkdtempSync(join(tmpdir(), "file-lock-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "data", "lock");

test("only one process holds the lock at a time", async () => {
  const first = await takeLock(file, 0);
  expect(first).toBeDefined();
  expect(await takeLock(file, 0)).toBeUndefined();
  expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const next = takeLock(file, 10_000);
  await first?.[Symbol.asyncDispose]();
  await (await next)?.[Symbol.asyncDispose]();
});

test("a lock on a removed file does not block others", async () => {
  await using _gone = await takeLock(file, 0);
  rmSync(join(folder, "data"), { recursive: true });
  await using next = await takeLock(file, 0);
  expect(next).toBeDefined();
  expect(await takeLock(file, 0)).toBeUndefined();
});
