import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tarTree, untarStream } from "./tar-tree.ts";

describe("a folder in an archive of tar", () => {
  let root: string;
  const content = randomBytes(200_000);
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "tar-tree-"));
    await mkdir(join(root, "source"));
    await writeFile(join(root, "source", "file"), content);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const target = async (name: string): Promise<string> => {
    await mkdir(join(root, name));
    return join(root, name);
  };

  test("is unpacked although tar ends while this process is busy", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `target-${index}`);
    const done = new AbortController();
    const busy = async (): Promise<void> => {
      while (!done.signal.aborted) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        await setImmediate();
      }
    };
    const unpacked = Promise.all(
      names.map(async (name) => untarStream(tarTree(join(root, "source")), await target(name))),
    );
    await Promise.all([busy(), unpacked.finally(() => done.abort())]);
    for (const name of names) expect(content.equals(await readFile(join(root, name, "file")))).toBe(true);
  });

  test("fails with the error of its source, also after the last byte of the archive", async () => {
    const archive = async function* (): AsyncGenerator<Uint8Array> {
      yield* tarTree(join(root, "source"));
      throw new Error("the content is not authentic");
    };
    await expect(untarStream(archive(), await target("target"))).rejects.toThrow("the content is not authentic");
  });

  test("is read to its end although tar refuses it at its beginning", async () => {
    let read = 0;
    const garbage = async function* (): AsyncGenerator<Uint8Array> {
      for (; read < 100; read += 1) yield randomBytes(65_536);
    };
    await expect(untarStream(garbage(), await target("target"))).rejects.toThrow("does not look like a tar archive");
    expect(read).toBe(100);
  });
});
