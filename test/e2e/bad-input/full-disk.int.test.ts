import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file, writeTestArchive } from "../../../packages/node/src/testing/test-image.ts";
import { Box, buildCommandLine, execute, whyNoBox } from "../box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("a full disk", { timeout: 120_000 }, () => {
  let box: Box;
  /** A file system without free space, and a file that is there already. */
  let full: string;
  let archive: string;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    full = mkdtempSync(join(box.dataDir, "full-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "none", full]);
    if (mounted.status !== 0) throw new Error(`Cannot mount: ${mounted.stderr.toString()}`);
    mkdirSync(join(full, "box"), { mode: 0o700 });
    spawnSync("sh", ["-c", `cat /dev/zero > ${join(full, "filler")}`]);
    const images = mkdtempSync(join(box.dataDir, "archive-"));
    archive = await writeTestArchive(images, { layers: [[file("hello", "there")]] }, "thing:v1");
    const { code, stderr } = await box.up("--default-runtime", "runc");
    if (code !== 0) throw new Error(stderr);
    await box.run("create", "work");
    await box.run("exec", "work", "--", "sh", "-c", "head -c 200000 /dev/urandom > /root/large");
    await box.run("snapshot", "create", "work", "kept");
  }, 120_000);
  afterAll(async () => {
    if (full !== undefined) spawnSync("umount", ["--lazy", full]);
    await box?.[Symbol.asyncDispose]();
  });

  const agentSandbox = (...words: string[]): ReturnType<typeof execute> => execute("dist/agent-sandbox", words, "");

  test.each([
    { what: "cp", words: ["cp", "work:/root/large", "FULL/large"] },
    { what: "snapshot export", words: ["snapshot", "export", "kept", "-o", "FULL/archive"] },
    { what: "backup", words: ["backup", "FULL/backup"] },
  ])("$what says so in one line, and leaves nothing", async ({ words }) => {
    const outcome = await box.run(...words.map((word) => word.replace("FULL", full)));
    expect(outcome).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: .*no space left on device.*\n$/i),
    });
    expect(readdirSync(full).toSorted()).toEqual(["box", "filler"]);
  });

  test.each([
    { what: "config set", words: ["config", "set", "node.defaults.pids", "500"] },
    { what: "image load", words: ["image", "load", "ARCHIVE"] },
  ])("$what in a data folder without space says so in one line", async ({ words }) => {
    const dataDir = join(full, "box");
    const given = words.map((word) => word.replace("ARCHIVE", archive));
    const { code, stdout, stderr } = await agentSandbox("--data-dir", dataDir, ...given);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: .*(?:no space left|full).*\n$/i),
    });
    expect(readdirSync(dataDir).filter((name) => name.startsWith("config"))).toEqual([]);
  });

  test.each([
    "get sandboxes",
    "get sandboxes -o yaml",
    "describe work",
    "exec work -- echo text",
    "cp work:/root/large -",
    "snapshot export kept -o -",
  ])("the output of %s is on a full disk", async (words) => {
    const command = `exec dist/agent-sandbox --data-dir ${box.dataDir} ${words} > /dev/full`;
    const { code, stderr } = await execute("sh", ["-c", command], "");
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error: .*no space left on device\n$/i),
    });
  });

  test("a file for a sandbox whose disk is full", async () => {
    const big = join(box.dataDir, "typed");
    writeFileSync(big, "x".repeat(100_000));
    const { code, stderr } = await box.run("cp", big, "work:/dev/shm/typed");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const filled = await box.run("exec", "work", "--", "sh", "-c", "cat /dev/zero > /dev/shm/zeros");
    expect(filled).toMatchObject({ code: 1, stderr: expect.stringContaining("No space left") });
    const refused = await box.run("cp", big, "work:/dev/shm/second");
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: Cannot copy: .*No space left on device\n$/),
    });
    expect((await box.run("exec", "work", "--", "ls", "/dev/shm")).stdout).toBe("typed\nzeros\n");
  });
});
