import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFolder } from "./watch-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "watch-folder-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("reports the name of a written file", async () => {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  using _watch = watchFolder(folder, resolve);
  await writeFile(join(folder, "x"), "");
  expect(await promise).toBe("x");
});

test("a missing folder is an error at once", () => {
  expect(() => watchFolder(join(folder, "missing"), () => undefined)).toThrow(/ENOENT/);
});
