import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sumFiles } from "./image-files.ts";
import { verifyFiles } from "./verify-image.ts";

describe("verifying the files of an image", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "image-"));
    await mkdir(join(folder, "checkpoint"));
    await writeFile(join(folder, "checkpoint", "pages.img"), Buffer.alloc(3_000_000, 7));
    await writeFile(join(folder, "checkpoint", "checkpoint.img"), "state");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test.for([
    ["a missing file", (path: string) => rm(path), "cannot be read"],
    ["a truncated file", (path: string) => truncate(path, 2_999_999), "has 2999999 bytes instead of 3000000"],
    [
      "a flipped bit",
      async (path: string) => {
        const bytes = Buffer.alloc(3_000_000, 7);
        bytes[2_500_000] = 6;
        await writeFile(path, bytes);
      },
      "has changed",
    ],
  ] as const)("%s is found", async ([, damage, message]) => {
    const sums = await sumFiles(folder);
    await verifyFiles(folder, sums);
    await damage(join(folder, "checkpoint", "pages.img"));
    const found = await verifyFiles(folder, sums).catch((error: unknown) => error);
    expect(found).toMatchObject({ reason: "ImageDamaged", message: expect.stringContaining(message) });
  });
});
