import { mkdir, mkdtemp, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Cgroups, detectCgroups } from "../system/cgroups.ts";
import { mountsUnder } from "../system/mounts.ts";
import { PlainMemory } from "./plain-memory.ts";

const mebibyte = 2 ** 20;

describe.skipIf(process.getuid?.() !== 0)("memory for plain files", () => {
  let runDir: string;
  let cgroups: Cgroups;
  let cgroup: string;
  let available: number;

  beforeEach(async () => {
    runDir = await mkdtemp(join(tmpdir(), "plain-"));
    cgroups = await detectCgroups();
    cgroup = `/plain-${process.pid}`;
    await mkdir(cgroups.controllerFolder("memory", `${cgroup}/below`), { recursive: true });
    available = Number.MAX_SAFE_INTEGER;
  });
  afterEach(async () => {
    await open().remove("left");
    for (const path of [`${cgroup}/below`, cgroup]) await rmdir(cgroups.controllerFolder("memory", path));
    await rm(runDir, { recursive: true, force: true });
  });

  const open = (): PlainMemory =>
    new PlainMemory({
      layout: { runDir, cgroupParent: "/none" },
      cgroups,
      memoryBytes: Number.MAX_SAFE_INTEGER,
      available: async () => available,
    });
  const limitFile = (path: string): string =>
    join(cgroups.controllerFolder("memory", path), cgroups.version === 2 ? "memory.max" : "memory.limit_in_bytes");
  const limitOf = async (path: string): Promise<number> => Number(await readFile(limitFile(path), "utf8"));

  test("a folder is a tmpfs for root that cannot grow, and is gone afterwards", async () => {
    const memory = open();
    const plain = await memory.make("one", mebibyte);
    expect(await mountsUnder(plain.folder)).toEqual([plain.folder]);
    expect((await stat(plain.folder)).mode & 0o777).toBe(0o700);
    await expect(writeFile(join(plain.folder, "large"), Buffer.alloc(16 * mebibyte))).rejects.toThrow("ENOSPC");
    await plain[Symbol.asyncDispose]();
    expect(await memory.names()).toEqual([]);
    expect(await mountsUnder(runDir)).toEqual([]);
  });

  test("more than the free memory is refused, and what others use is waited for", async () => {
    available = 2 ** 30;
    const memory = open();
    await expect(memory.make("all", 2 ** 30)).rejects.toMatchObject({ reason: "QuotaExceeded" });
    const first = await memory.make("first", 300 * mebibyte);
    let isMade = false;
    const second = memory.make("second", 300 * mebibyte).then((made) => {
      isMade = true;
      return made;
    });
    await expect(memory.make("third", 300 * mebibyte, { waits: false })).rejects.toThrow("are free");
    expect(isMade).toBe(false);
    await first[Symbol.asyncDispose]();
    await (await second)[Symbol.asyncDispose]();
  });

  test("the Pod that writes may use more memory meanwhile, and the next process takes it back after a crash", async () => {
    await writeFile(limitFile(`${cgroup}/below`), String(64 * mebibyte));
    await open().make("left", 32 * mebibyte, { writer: cgroup });
    expect(await limitOf(`${cgroup}/below`)).toBeGreaterThanOrEqual(96 * mebibyte);
    const next = open();
    expect(await next.names()).toEqual(["left"]);
    await next.remove("left");
    expect(await limitOf(`${cgroup}/below`)).toBe(64 * mebibyte);
    expect(await mountsUnder(runDir)).toEqual([]);
  });
});
