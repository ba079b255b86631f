import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { beginImage, commitImage, removePartials, sizeOf, sumFiles } from "./image-files.ts";

describe("the files of an image", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "image-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function write(): Promise<string> {
    const partial = await beginImage(join(root, "0"));
    await writeFile(join(partial, "checkpoint", "pages.img"), Buffer.alloc(3_000_000, 7));
    await writeFile(join(partial, "checkpoint", "checkpoint.img"), "state");
    return partial;
  }

  test("an image has its name only when it is complete, and only root can read it", async () => {
    const partial = await write();
    expect(await readdir(root)).toEqual(["0.partial"]);
    const folder = await commitImage(partial, {});
    expect(await readdir(root)).toEqual(["0"]);
    const modes = await Promise.all(
      [folder, join(folder, "checkpoint"), join(folder, "meta.json")].map(async (path) =>
        ((await stat(path)).mode & 0o777).toString(8),
      ),
    );
    expect(modes).toEqual(["700", "700", "600"]);
  });

  test("a new image replaces one of the same name", async () => {
    await commitImage(await write(), { first: true });
    const folder = await commitImage(await write(), {});
    expect(sizeOf(await sumFiles(folder))).toBe(3_000_005);
  });

  test("partial images are removed, complete ones are not", async () => {
    await commitImage(await write(), {});
    await beginImage(join(root, "1"));
    await removePartials(root);
    expect(await readdir(root)).toEqual(["0"]);
  });
});
