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
  test("keeps lines in order, for its owner alone, across openings", async () => {
    for (const line of ["one", "two"]) {
      const file = await open(1000, 3);
      file.append(line);
      await file.close();
    }
    expect(contents()).toEqual({ log: "one\ntwo\n" });
    expect(statSync(join(folder, "log")).mode & 0o777).toBe(0o600);
  });

  test("puts full files aside, and keeps so many", async () => {
    const file = await open(10, 3);
    for (let number = 1; number <= 9; number += 1) file.append(`line${number}`);
    await file.close();
    expect(contents()).toEqual({ log: "line9\n", "log.1": "line8\n", "log.2": "line7\n" });
  });

  test("keeps one file alone", async () => {
    const file = await open(10, 1);
    for (let number = 1; number <= 4; number += 1) file.append(`line${number}`);
    await file.close();
    expect(contents()).toEqual({ log: "line4\n" });
  });

  test("writes a line that is longer than a file may be, alone", async () => {
    const file = await open(10, 3);
    for (const line of ["a", "x".repeat(50), "b"]) file.append(line);
    await file.close();
    expect(contents()).toEqual({ log: "b\n", "log.1": `${"x".repeat(50)}\n`, "log.2": "a\n" });
  });

  test("refuses at once to write where it cannot", async () => {
    await expect(open(10, 1, join(folder, "no/such/folder/log"))).rejects.toThrow("ENOENT");
  });

  test("drops what the disk cannot take in time, and says so", async () => {
    const warnings: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    const file = await RotatingFile.open({ path: join(folder, "log"), maxBytes: 2 ** 30, maxFiles: 2, logger });
    for (let number = 0; number < 20; number += 1) file.append("x".repeat(1024 * 1024));
    await file.close();
    // One is on its way, fifteen wait.
    expect(warnings).toEqual([{ lines: 4 }]);
    expect(statSync(join(folder, "log")).size).toBe(16 * (1024 * 1024 + 1));
  });
});
