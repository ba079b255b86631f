import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ImageMeta, readMeta, readUse } from "./image-meta.ts";
import { ownFiles, sealMeta } from "./sealed-meta.ts";
import { StateKeys, stateKeyOf } from "./state-keys.ts";

const key = stateKeyOf(randomBytes(32));
const keys = new StateKeys([key]);
const sealed = { id: "snapshots/one/aa", files: { "pages.img": 3 }, volumes: {} };
const meta = { version: 1, namespace: "team", sizeBytes: 3, podUid: "hidden", files: {}, containers: {}, sealed };

describe("the encrypted description of an image", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "sealed-meta-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const write = async (...names: string[]): Promise<string> => {
    const folder = join(root, ...names);
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "meta.json"),
      JSON.stringify(await sealMeta(folder, meta as unknown as ImageMeta, key)),
    );
    return folder;
  };

  test("it is read with the key, and only its size and namespace without", async () => {
    const folder = await write("snapshots", "one");
    expect(await readMeta(folder, keys)).toEqual(meta);
    expect(await readUse(folder)).toMatchObject({ namespace: "team", sizeBytes: 3 });
    expect(await readFile(join(folder, "meta.json"), "utf8")).not.toContain("hidden");
    await expect(readMeta(folder, new StateKeys([]))).rejects.toMatchObject({ reason: "KeyUnavailable" });
  });

  test("a partial image keeps its description when it gets its name", async () => {
    const partial = await write("uid", "3.partial");
    await cp(partial, join(root, "uid", "3"), { recursive: true });
    expect(await readMeta(join(root, "uid", "3"), keys)).toEqual(meta);
  });

  test.for([
    ["of another epoch", ["uid", "4"]],
    ["of another Sandbox", ["other", "3"]],
    ["of a snapshot", ["snapshots", "uid"]],
  ] as const)("the description of an image is not accepted as that %s", async ([, names]) => {
    const folder = await write("uid", "3");
    await cp(folder, join(root, ...names), { recursive: true });
    await expect(readMeta(join(root, ...names), keys)).rejects.toMatchObject({ reason: "ImageDamaged" });
  });

  test("files that are named outside an encrypted description must be of the same image", () => {
    expect(ownFiles("/state/snapshots/one", { sealed })).toEqual({ sealed });
    expect(ownFiles("/state/snapshots/one", {})).toEqual({});
    expect(() => ownFiles("/state/snapshots/two", { sealed })).toThrow("files of another image");
  });
});
