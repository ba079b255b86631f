import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SpareSpace } from "./spare-space.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "spare-"));
  path = join(folder, "spare");
});
afterEach(() => rm(folder, { recursive: true }));

const failure = (code: string): Error => Object.assign(new Error(code), { code });

test("the space is there after the first write", async () => {
  await new SpareSpace(path).use(async () => undefined);
  expect(statSync(path)).toMatchObject({ size: 2 ** 20 });
});

test("a write that finds the disk full is repeated without the spare file, which comes back later", async () => {
  await new SpareSpace(path).fill();
  const spare = new SpareSpace(path);
  const found: boolean[] = [];
  const write = async (): Promise<void> => {
    found.push(existsSync(path));
    if (existsSync(path)) throw failure("ENOSPC");
  };
  await spare.use(write);
  expect([found, existsSync(path)]).toEqual([[true, false], false]);
  await spare.use(write);
  expect(existsSync(path)).toBe(true);
});

test("other errors, and a disk that stays full, are reported", async () => {
  const spare = new SpareSpace(path);
  await expect(spare.use(() => Promise.reject(failure("EIO")))).rejects.toThrow("EIO");
  await expect(spare.use(() => Promise.reject(failure("ENOSPC")))).rejects.toThrow("ENOSPC");
});
