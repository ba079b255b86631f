import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Layout, layoutOf, podPaths } from "../layout.ts";
import { imagesInUse } from "./in-use.ts";
import { keptPaths, sweepKept, takeKept } from "./kept-rootfs.ts";

let layout: Layout;
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "kept-"));
  layout = layoutOf(dataDir);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const addPod = async (uid: string): Promise<void> => {
  const { record } = podPaths(layout, uid);
  await mkdir(dirname(record), { recursive: true });
  await writeFile(record, JSON.stringify({ version: 1, uid, containers: {} }));
};
const take = async (value: string, holder: string, reference = "debian"): Promise<string[]> => {
  const paths = keptPaths(layout, value, "main");
  await takeKept(layout, paths, { reference, image: "sha256:1", holder });
  await mkdir(paths.upper, { recursive: true });
  const before = await readdir(paths.upper);
  await writeFile(join(paths.upper, holder), "");
  return before;
};

describe("a kept layer", () => {
  test("passes from one Pod to the next, and keeps its image", async () => {
    expect(await take("sandbox", "first")).toEqual([]);
    expect(await take("sandbox", "second")).toEqual(["first"]);
    expect(await take("sandbox", "second")).toEqual(["first", "second"]);
    expect(await imagesInUse(layout)).toEqual(new Set(["sha256:1"]));
  });

  test("is dropped when the next Pod names another image", async () => {
    await take("sandbox", "first");
    expect(await take("sandbox", "second", "ubuntu")).toEqual([]);
  });

  test("is never used by two Pods at once", async () => {
    await take("sandbox", "first");
    await addPod("first");
    await expect(take("sandbox", "second")).rejects.toThrow("Pod first still uses it");
    expect(await take("sandbox", "first")).toEqual(["first"]);
  });

  test("is removed with its Sandbox, but not while a Pod uses it or while the API server cannot be asked", async () => {
    for (const value of ["exists", "gone", "held"]) await take(value, `pod-${value}`);
    await addPod("pod-held");
    expect(await sweepKept({ layout, sandboxes: async () => undefined })).toEqual([]);
    expect(await sweepKept({ layout, sandboxes: async () => new Set(["exists"]) })).toEqual(["gone"]);
    expect((await readdir(join(layout.dataDir, "kept"))).toSorted()).toEqual(["exists", "held"]);
  });
});
