import { cp, open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import type { ImageMeta } from "../../src/state/image-meta.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, conditionOf, imagesIn, makeSandbox, type SavedSandbox } from "./saved-pods.ts";

describe.skipIf(cannotRun)("images that cannot be restored", { concurrent: true }, () => {
  let box: TestBox;

  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const folderOf = ({ uid }: SavedSandbox): string => join(layoutOf(box.dataDir).stateDir, "suspensions", uid, "0");

  async function saved(name: string): Promise<SavedSandbox> {
    const sandbox = await makeSandbox(box, name, {});
    await sandbox.start();
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    return sandbox;
  }

  const hasStarted = ({ status }: Pod): boolean =>
    (status?.containerStatuses ?? []).some(({ state }) => state?.waiting === undefined);

  async function changeMeta(sandbox: SavedSandbox, change: (meta: ImageMeta) => object): Promise<void> {
    const path = join(folderOf(sandbox), "meta.json");
    const meta = JSON.parse(await readFile(path, "utf8")) as ImageMeta;
    await writeFile(path, JSON.stringify({ ...meta, ...change(meta) }));
  }

  async function flip(path: string): Promise<void> {
    await using file = await open(path, "r+");
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, 1000);
    await file.write(Buffer.from([(byte[0] ?? 0) ^ 1]), 0, 1, 1000);
  }

  const cases: readonly [string, string, (sandbox: SavedSandbox) => Promise<unknown>][] = [
    ["missing", "ImageMissing", (one) => rm(folderOf(one), { recursive: true })],
    ["truncated", "ImageDamaged", (one) => truncate(join(folderOf(one), "checkpoint/pages.img"), 4096)],
    ["flipped", "ImageDamaged", (one) => flip(join(folderOf(one), "checkpoint/checkpoint.img"))],
    ["flipped-page", "ImageDamaged", (one) => flip(join(folderOf(one), "checkpoint/pages.img"))],
    ["no-meta", "ImageDamaged", (one) => writeFile(join(folderOf(one), "meta.json"), "{")],
    [
      "version",
      "RuntimeVersionDiffers",
      (one) => changeMeta(one, ({ build }) => ({ build: { ...build, version: "1" } })),
    ],
    ["processor", "CPUFeaturesDiffer", (one) => changeMeta(one, () => ({ cpu: "other" }))],
    ["spec", "RestoreFailed", (one) => changeMeta(one, () => ({ specHash: "other" }))],
    ["containers", "ImageDamaged", (one) => changeMeta(one, () => ({ containers: {} }))],
  ];

  test.for(cases)("%s: %s, and nothing starts", async ([name, reason, damage]) => {
    const sandbox = await saved(name);
    await damage(sandbox);
    const pod = await sandbox.restore();
    expect(answerOf(pod, "PodRestored")).toBe(reason);
    expect(hasStarted(pod)).toBe(false);
    expect(pod.status?.phase).toBe("Pending");
    expect(await imagesIn(box, sandbox.uid)).toEqual(name === "missing" ? [] : ["0"]);
    await sandbox.remove();
    // Without the image the Sandbox starts from its files.
    expect(conditionOf(await sandbox.start(), "PodRestored")).toBeUndefined();
    expect(await imagesIn(box, sandbox.uid)).toEqual([]);
  });

  test("the image of another Sandbox is refused", async () => {
    const [own, other] = await Promise.all([saved("own"), saved("other")]);
    await rm(folderOf(own), { recursive: true });
    await cp(folderOf(other), folderOf(own), { recursive: true });
    expect(answerOf(await own.restore(), "PodRestored")).toBe("ImageMissing");
  });

  test("an image that a Pod has used is not restored a second time", async () => {
    const sandbox = await saved("twice");
    await writeFile(join(folderOf(sandbox), "user.json"), JSON.stringify({ podUid: "another" }));
    // Not even when the first attempt has failed.
    for (const _attempt of [1, 2]) {
      expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("ImageMissing");
      await sandbox.remove();
    }
  });
});
