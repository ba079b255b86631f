import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import type { ImageMeta } from "./image-meta.ts";
import { ImageVault } from "./image-vault.ts";
import { defaultStateLimits } from "./limits.ts";
import type { PlainMemory } from "./plain-memory.ts";
import { StateKeys } from "./state-keys.ts";
import { Suspensions } from "./suspensions.ts";

// Without keys it uses no memory.
const vault = new ImageVault(new StateKeys([]), {} as PlainMemory);
const limits = { ...defaultStateLimits(1_000_000_000), images: 2 };

describe("the images of suspended Sandboxes", () => {
  let dataDir: string;
  let store: Suspensions;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "suspensions-"));
    store = await Suspensions.open(layoutOf(dataDir), limits, { vault });
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const folder = (...names: string[]): string => join(layoutOf(dataDir).stateDir, ...names);

  async function save(sandboxUid: string, epoch: number, sizeBytes = 10): Promise<void> {
    const partial = await store.begin({ sandboxUid, epoch });
    const meta = { version: 1, podUid: "pod", sandboxUid, epoch, namespace: "a", sizeBytes, files: {}, containers: {} };
    await store.commit(partial, meta as unknown as ImageMeta);
  }

  test("an image is found by Sandbox and epoch only", async () => {
    await save("one", 3);
    expect((await store.find({ sandboxUid: "one", epoch: 3 }))?.meta.epoch).toBe(3);
    expect(await store.find({ sandboxUid: "one", epoch: 2 })).toBeUndefined();
    expect(await store.find({ sandboxUid: "two", epoch: 3 })).toBeUndefined();
  });

  test("a new image of a Sandbox replaces the one before", async () => {
    await save("one", 3);
    await save("one", 4);
    expect(await readdir(folder("suspensions", "one"))).toEqual(["4"]);
  });

  test("limits count the images of earlier processes, and not the one that will be replaced", async () => {
    await save("one", 0);
    await save("two", 0);
    const next = await Suspensions.open(layoutOf(dataDir), limits, { vault });
    const admit = (sandboxUid: string) => () => next.admit({ sandboxUid, namespace: "a", bytes: 1 });
    expect(admit("two")).not.toThrow();
    expect(admit("three")).toThrow("this node has its 2 images already");
    await next.remove({ sandboxUid: "one", epoch: 0 });
    expect(admit("three")).not.toThrow();
  });

  test("images that are completed at the same time exceed no limit together", async () => {
    await save("one", 0);
    const saved = await Promise.allSettled(["two", "three"].map((name) => save(name, 0)));
    expect(saved.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(saved[1]).toMatchObject({ reason: { reason: "QuotaExceeded" } });
    await store.remove({ sandboxUid: "three", epoch: 0 });
    expect(await readdir(folder("suspensions", "three"))).toEqual([]);
  });

  test("what a crash left half written is removed at the next start", async () => {
    await store.begin({ sandboxUid: "one", epoch: 3 });
    await Suspensions.open(layoutOf(dataDir), limits, { vault });
    expect(await readdir(folder("suspensions", "one"))).toEqual([]);
  });

  test("an image is given to one Pod only, until that Pod has failed", async () => {
    await save("one", 3);
    const key = { sandboxUid: "one", epoch: 3 };
    await store.claim(key, "pod-a");
    await store.claim(key, "pod-a");
    await expect(store.claim(key, "pod-b")).rejects.toMatchObject({ reason: "ImageMissing" });
    await store.disclaim(key, "pod-b");
    await expect(store.claim(key, "pod-b")).rejects.toMatchObject({ reason: "ImageMissing" });
    await store.disclaim(key, "pod-a");
    await store.claim(key, "pod-b");
  });

  test("the images of deleted Sandboxes are removed", async () => {
    await save("one", 3);
    await save("two", 0);
    expect(await store.sweep(async () => new Set(["two"]), 0)).toEqual(["one"]);
    expect(await readdir(folder("suspensions"))).toEqual(["two"]);
  });

  test("images that could not be restored are removed with their Sandbox", async () => {
    for (const name of ["one-a", "two"]) {
      await save(name, 3);
      await store.retire(name, 5);
    }
    expect(await store.sweep(async () => new Set(["two"]), 0)).toEqual(["one-a"]);
    expect(await readdir(folder("unusable"))).toEqual(["5-two-3"]);
    await store.forget("two");
    expect(await readdir(folder("unusable"))).toEqual([]);
  });

  test("a Pod that has run makes the images of earlier Pods out of date, but not its own", async () => {
    await save("one", 3);
    await store.removeOlder("one", "pod");
    expect(await readdir(folder("suspensions", "one"))).toEqual(["3"]);
    await store.removeOlder("one", "next");
    expect(await readdir(folder("suspensions", "one"))).toEqual([]);
    expect(() => store.admit({ sandboxUid: "two", namespace: "a", bytes: 1 })).not.toThrow();
  });

  test("nothing is removed while the API server cannot be asked", async () => {
    await save("one", 3);
    expect(await store.sweep(async () => undefined, 0)).toEqual([]);
  });

  test("images that were not used are kept for inspection, the newest eight for a week", async () => {
    for (let time = 1; time <= 10; time++) {
      await save("one", time);
      await store.retire("one", time);
    }
    expect(await readdir(folder("suspensions", "one"))).toEqual([]);
    expect(
      (await readdir(folder("unusable"))).toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)),
    ).toEqual([3, 4, 5, 6, 7, 8, 9, 10].map((time) => `${time}-one-${time}`));
    await store.sweep(async () => new Set(["one"]), 7 * 24 * 3_600_000 + 5);
    expect((await readdir(folder("unusable"))).length).toBe(6);
  });

  test("images that were not used are limited by their bytes on the disk", async () => {
    const small = { ...limits, imageBytes: 1 << 20 };
    store = await Suspensions.open(layoutOf(dataDir), small, { vault });
    for (let time = 1; time <= 3; time++) {
      await save("one", time);
      await writeFile(folder("suspensions", "one", `${time}`, "checkpoint", "pages.img"), Buffer.alloc(400 << 10, 1));
      await store.retire("one", time);
    }
    await store.measured();
    expect((await readdir(folder("unusable"))).toSorted()).toEqual(["2-one-2", "3-one-3"]);
  });

  test("no start waits until images that were not used are measured, and each is measured once", async () => {
    const asked: string[] = [];
    const gate = Promise.withResolvers<void>();
    const count = async (paths: readonly string[]): Promise<ReadonlyMap<string, number>> => {
      asked.push(...paths);
      await gate.promise;
      return new Map(paths.map((path) => [path, 600_000]));
    };
    store = await Suspensions.open(layoutOf(dataDir), { ...limits, imageBytes: 1_000_000 }, { vault, count });
    await save("one", 1);
    await store.retire("one", 1);
    await store.retire("none", 2);
    await save("two", 1);
    await store.retire("two", 3);
    expect((await readdir(folder("unusable"))).toSorted()).toEqual(["1-one-1", "3-two-1"]);
    gate.resolve();
    await store.measured();
    await store.sweep(async () => new Set(["one", "two"]), 4);
    await store.measured();
    expect(await readdir(folder("unusable"))).toEqual(["3-two-1"]);
    expect(asked).toEqual([folder("unusable", "1-one-1"), folder("unusable", "3-two-1")]);
  });

  test("an image with too many files to count counts as the largest that an image may be", async () => {
    store = await Suspensions.open(layoutOf(dataDir), limits, { vault, count: async () => undefined });
    for (const time of [1, 2]) {
      await save("one", time);
      await store.retire("one", time);
    }
    await store.measured();
    expect(await readdir(folder("unusable"))).toEqual(["2-one-2"]);
  });

  test("a measurement ends with the store", async () => {
    const count = (_: readonly string[], signal: AbortSignal): Promise<undefined> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
    store = await Suspensions.open(layoutOf(dataDir), limits, { vault, count });
    await save("one", 1);
    await store.retire("one", 1);
    await store[Symbol.asyncDispose]();
    expect(await readdir(folder("unusable"))).toEqual(["1-one-1"]);
  });
});
