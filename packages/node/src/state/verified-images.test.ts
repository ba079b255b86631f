import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FileSums, sumFiles } from "./image-files.ts";
import { VerifiedImages } from "./verified-images.ts";
import { verifyFiles } from "./verify-image.ts";

describe("remembering which images are intact", () => {
  let image: string;
  let sums: FileSums;
  let readings: number;
  let now: number;
  let images: VerifiedImages;
  const pages = (): string => join(image, "checkpoint", "pages.img");

  beforeEach(async () => {
    image = await mkdtemp(join(tmpdir(), "verified-"));
    await mkdir(join(image, "checkpoint"));
    await writeFile(pages(), "pages of memory");
    sums = await sumFiles(image);
    readings = 0;
    now = 0;
    images = new VerifiedImages(
      () => now,
      (...args) => {
        readings += 1;
        return verifyFiles(...args);
      },
    );
  });
  afterEach(() => rm(image, { recursive: true, force: true }));

  test("forks of one snapshot read it once, also when they begin at the same time", async () => {
    await Promise.all(Array.from({ length: 100 }, () => images.verify(image, sums)));
    await images.verify(image, sums);
    expect(readings).toBe(1);
  });

  test("an image that was just written is not read, unless it has changed since", async () => {
    await images.remember(image, sums);
    await images.verify(image, sums);
    expect(readings).toBe(0);
    await writeFile(pages(), "pages of Memory");
    await expect(images.verify(image, sums)).rejects.toMatchObject({ reason: "ImageDamaged" });
  });

  test("an image is read again after ten minutes", async () => {
    await images.verify(image, sums);
    now = 10 * 60_000;
    await images.verify(image, sums);
    expect(readings).toBe(2);
  });

  test("a change of the same length is found, even if the time of the last change is set back", async () => {
    await writeFile(pages(), "pages of memory");
    await utimes(pages(), 1, 1);
    await images.verify(image, sums);
    await writeFile(pages(), "pages of Memory");
    await utimes(pages(), 1, 1);
    await expect(images.verify(image, sums)).rejects.toMatchObject({ reason: "ImageDamaged" });
  });

  test("other checksums are compared with the files", async () => {
    await images.verify(image, sums);
    const other = { "pages.img": { bytes: 15, crc32: 1 } };
    await expect(images.verify(image, other)).rejects.toMatchObject({ reason: "ImageDamaged" });
  });

  test("a damaged image is read again each time, so that a repaired one can be used", async () => {
    await rm(pages());
    await expect(images.verify(image, sums)).rejects.toMatchObject({ reason: "ImageDamaged" });
    await writeFile(pages(), "pages of memory");
    await images.verify(image, sums);
    expect(readings).toBe(2);
  });
});
