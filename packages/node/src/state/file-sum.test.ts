import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hasSum, sumOf } from "./file-sum.ts";

describe("the checksum of a file", () => {
  let path: string;
  beforeEach(async () => {
    path = join(await mkdtemp(join(tmpdir(), "sum-")), "file");
  });
  afterEach(() => rm(join(path, ".."), { recursive: true, force: true }));

  const mebibyte = 1024 * 1024;

  test.for([0, 1, mebibyte - 1, mebibyte, 3 * mebibyte + 5])("finds a changed byte in %i bytes", async (bytes) => {
    const content = Buffer.alloc(bytes, "content");
    await writeFile(path, content);
    const sum = await sumOf(path);
    expect([sum.bytes, await hasSum(path, sum)]).toEqual([bytes, true]);
    for (const at of new Set([0, bytes >> 1, bytes - 1])) {
      if (at < 0 || at >= bytes) continue;
      const damaged = Buffer.from(content);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      await writeFile(path, damaged);
      expect(await hasSum(path, sum)).toBe(false);
    }
    await writeFile(path, Buffer.concat([content, Buffer.of(0)]));
    expect(await hasSum(path, sum)).toBe(false);
  });

  test("files that are summed at the same time do not disturb each other", async () => {
    const paths = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        await writeFile(`${path}-${index}`, Buffer.alloc(2 * mebibyte + index, index));
        return `${path}-${index}`;
      }),
    );
    const alone = [];
    for (const one of paths) alone.push(await sumOf(one));
    expect(await Promise.all(paths.map(sumOf))).toEqual(alone);
    expect(new Set(alone.map((sum) => JSON.stringify(sum))).size).toBe(12);
  });

  test("images of earlier versions have a CRC-32", async () => {
    await writeFile(path, "123456789");
    // The check value of the catalogue of CRC algorithms.
    expect(await hasSum(path, { bytes: 9, crc32: 0xcb_f4_39_26 })).toBe(true);
    expect(await hasSum(path, { bytes: 9, crc32: 0xcb_f4_39_27 })).toBe(false);
    expect(await hasSum(path, { bytes: 8, crc32: 0xcb_f4_39_26 })).toBe(false);
  });
});
