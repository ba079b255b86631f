import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../logger.ts";
import { RotatingFile } from "./rotating-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rotating-file-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (maxBytes: number, maxFiles: number, path = join(folder, "log")): Promise<RotatingFile> =>
  RotatingFile.open({ path, maxBytes, maxFiles, logger: silentLogger });
const contents = (): Record<string, string> =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));

describe("RotatingFile", () => {
  test("appends lines in order, also after reopening, in a file readable only by its owner", async () => {
    for (const line of ["one", "two"]) {
      const file = await open(1000, 3);
      file.append(line);
      await file.close();
    }
    expect(contents()).toEqual({ log: "one\ntwo\n" });
    expect(statSync(join(folder, "log")).mode & 0o777).toBe(0o600);
  });

  test("rotates full files and keeps the configured number", async () => {
    const file = await open(10, 3);
    for (let number = 1; number <= 9; number += 1) file.append(`line${number}`);
    await file.close();
    expect(contents()).toEqual({ log: "line9\n", "log.1": "line8\n", "log.2": "line7\n" });
  });

  test("keeps only the current file when the number is one", async () => {
    const file = await open(10, 1);
    for (let number = 1; number <= 4; number += 1) file.append(`line${number}`);
    await file.close();
    expect(contents()).toEqual({ log: "line4\n" });
  });

  test("writes a line longer than the maximum size into a file of its own", async () => {
    const file = await open(10, 3);
    for (const line of ["a", "x".repeat(50), "b"]) file.append(line);
    await file.close();
    expect(contents()).toEqual({ log: "b\n", "log.1": `${"x".repeat(50)}\n`, "log.2": "a\n" });
  });

  test("fails to open a path that cannot be written", async () => {
    await expect(open(10, 1, join(folder, "no/such/folder/log"))).rejects.toThrow("ENOENT");
  });

  test("drops lines when the disk is too slow, and logs how many", async () => {
    const warnings: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    const file = await RotatingFile.open({ path: join(folder, "log"), maxBytes: 2 ** 30, maxFiles: 2, logger });
    for (let number = 0; number < 20; number += 1) file.append("x".repeat(1024 * 1024));
    await file.close();
    // One is being written, and fifteen are waiting.
    expect(warnings).toEqual([{ lines: 4 }]);
    expect(statSync(join(folder, "log")).size).toBe(16 * (1024 * 1024 + 1));
  });
});
