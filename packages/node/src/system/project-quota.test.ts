import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limitFolder, type QuotaCalls } from "./project-quota.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "quota-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A fake kernel that records the quota calls and stores the attributes. */
function kernel(failures: { quota?: number; control?: number } = {}) {
  const limits: { project: number; limitKib: bigint }[] = [];
  const attributes = Buffer.alloc(28);
  attributes.writeUInt32LE(0x10, 0);
  const calls: QuotaCalls = {
    quota: (_descriptor, command, project, block) => {
      expect([command, block.length, block.readUInt32LE(64)]).toEqual([0x80000802 | 0, 72, 1]);
      limits.push({ project, limitKib: block.readBigUInt64LE(0) });
      return failures.quota ?? 0;
    },
    control: (_descriptor, request, given) => {
      if (request === 0x801c581f) attributes.copy(given);
      else given.copy(attributes);
      return failures.control ?? 0;
    },
  };
  return { calls, limits, attributes };
}

test("a folder gets its own project, whose limit new files inherit; other attributes stay", () => {
  const { calls, limits, attributes } = kernel();
  expect(limitFolder(folder, 10_000, calls)).toBe(true);
  expect(limits).toEqual([{ project: attributes.readUInt32LE(12), limitKib: 10n }]);
  expect(attributes.readUInt32LE(0)).toBe(0x210);
  expect(attributes.readUInt32LE(12)).toBeGreaterThan(0);
});

test.for([3, 38, 95])("a filesystem that cannot (error %d) is not an error, and the folder is unchanged", (quota) => {
  const { calls, attributes } = kernel({ quota });
  expect(limitFolder(folder, 1, calls)).toBe(false);
  expect(attributes.readUInt32LE(12)).toBe(0);
});

test("other errors are thrown", () => {
  expect(() => limitFolder(folder, 1, kernel({ quota: 1 }).calls)).toThrow(
    `Cannot limit the size of "${folder}": operation not permitted`,
  );
  expect(() => limitFolder(folder, 1, kernel({ control: 5 }).calls)).toThrow("Cannot limit the size");
  expect(() => limitFolder(join(folder, "missing"), 1, kernel().calls)).toThrow("ENOENT");
});
