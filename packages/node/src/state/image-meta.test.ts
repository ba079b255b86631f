import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkPlace, type ImageMeta, readMeta } from "./image-meta.ts";
import { StateError } from "./state-error.ts";
import { StateKeys } from "./state-keys.ts";

const build = { version: "release-1", sha256: "aa" };
const place = { build, cpu: "cpu", specHash: "spec" };

function reasonOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof StateError ? error.reason : String(error);
  }
}

describe("whether an image can be restored here", () => {
  test.for([
    ["the same place", {}, undefined],
    ["another version", { build: { ...build, version: "release-2" } }, "RuntimeVersionDiffers"],
    ["another build of the same version", { build: { ...build, sha256: "bb" } }, "RuntimeVersionDiffers"],
    ["another processor", { cpu: "other" }, "CPUFeaturesDiffer"],
    ["changed containers", { specHash: "other" }, "RestoreFailed"],
  ] as const)("%s", ([, change, reason]) => {
    expect(reasonOf(() => checkPlace({ ...place, ...change } as ImageMeta, place))).toBe(reason);
  });
});

describe("reading the description of an image", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "meta-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test("an image without a description does not exist", async () => {
    expect(await readMeta(folder, new StateKeys([]))).toBeUndefined();
  });

  test.for(["", "{", "[]", '{"version":2}', "null-ish"])("%j is damaged", async (text) => {
    await writeFile(join(folder, "meta.json"), text);
    await expect(readMeta(folder, new StateKeys([]))).rejects.toMatchObject({ reason: "ImageDamaged" });
  });
});
