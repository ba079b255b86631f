import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
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
    expect(await readdir(join(runDir, "plain"))).toEqual([]);
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
    expect(await next.unused()).toEqual(["left"]);
    await next.remove("left");
    expect(await limitOf(`${cgroup}/below`)).toBe(64 * mebibyte);
    expect(await mountsUnder(runDir)).toEqual([]);
  });

  test("a Pod that uses more than its limit gets no higher one until its limit is restored", async () => {
    const below = `${cgroup}/below`;
    await writeFile(limitFile(below), String(32 * mebibyte));
    const memory = open();
    const plain = await memory.make("left", 96 * mebibyte, { writer: cgroup });
    const program = "import sys; x = bytearray(64 * 2**20); print(1, flush=True); sys.stdin.read()";
    const enter = `echo $$ > ${cgroups.controllerFolder("memory", below)}/cgroup.procs; exec python3 -c '${program}'`;
    const pod = spawn("sh", ["-c", enter], { stdio: ["pipe", "pipe", "inherit"] });
    await once(pod.stdout, "data");
    const ended = once(pod, "close");
    await plain[Symbol.asyncDispose]();
    // Version 1 refuses a limit below the usage. Version 2 accepts it, and ends the process.
    const isStillHigh = (await limitOf(below)) > 32 * mebibyte;
    expect(isStillHigh).toBe(cgroups.version === 1);
    const again = memory.make("again", mebibyte, { writer: cgroup }).catch((error: unknown) => error);
    const refusal = { reason: "QuotaExceeded", message: expect.stringContaining("more than its limit") };
    expect(await again).toMatchObject(isStillHigh ? refusal : { folder: memory.pathOf("again") });
    pod.stdin.end();
    await ended;
    expect(await memory.restoreLeft()).toEqual([]);
    await memory.remove("again");
    expect(await limitOf(below)).toBe(32 * mebibyte);
  });
});
