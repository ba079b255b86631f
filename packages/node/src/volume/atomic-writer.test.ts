import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeAtomically } from "./atomic-writer.ts";

const payload = (files: Record<string, string>, mode = 0o644) =>
  new Map(Object.entries(files).map(([path, text]) => [path, { content: Buffer.from(text), mode }]));
const group = process.getgid?.() ?? 0;

describe("writeAtomically()", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "atomic-"));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const shown = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => !name.startsWith("..")).toSorted();

  test("links files and folders through ..data", async () => {
    await writeAtomically(folder, payload({ a: "1", "deep/b": "2" }, 0o400), group);
    expect(await shown()).toEqual(["a", "deep"]);
    expect([await readlink(join(folder, "a")), await readFile(join(folder, "deep/b"), "utf8")]).toEqual([
      "..data/a",
      "2",
    ]);
    expect((await stat(join(folder, "a"))).mode & 0o777).toBe(0o440);
  });

  test("replaces all files at once, and removes the old ones", async () => {
    await writeAtomically(folder, payload({ a: "1", b: "1" }), undefined);
    const before = await readlink(join(folder, "..data"));
    await writeAtomically(folder, payload({ a: "2", c: "2" }), undefined);
    expect(await readlink(join(folder, "..data"))).not.toBe(before);
    expect(await shown()).toEqual(["a", "c"]);
    expect(await readFile(join(folder, "a"), "utf8")).toBe("2");
    expect((await readdir(folder)).length).toBe(4);
  });

  test("does not write files that are unchanged", async () => {
    await writeAtomically(folder, payload({ a: "1" }), undefined);
    const before = await readlink(join(folder, "..data"));
    await writeAtomically(folder, payload({ a: "1" }), undefined);
    expect(await readlink(join(folder, "..data"))).toBe(before);
  });

  test("continues after a crash", async () => {
    await writeAtomically(folder, payload({ a: "1" }), undefined);
    await rm(join(folder, "a"));
    await writeAtomically(folder, payload({ a: "1", b: "1" }), undefined);
    expect(await shown()).toEqual(["a", "b"]);
  });
});
