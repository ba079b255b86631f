import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file, writeTestArchive } from "../../../packages/node/src/testing/test-image.ts";
import { startRegistry, type TestRegistry } from "../../../packages/node/src/testing/test-registry.ts";
import { Box, buildCommandLine, whyNoBox } from "../box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** What fails first depends on what the node could remove. As on a Kubernetes node that has little space, new Pods wait. */
const full = /low on ephemeral-storage, and the Pod waits|no space left|disk is (?:too )?full/;
const kinds = "sandboxes,sandboxsnapshots";

describe.skipIf(reason !== undefined)("a box whose own disk is full", { timeout: 120_000 }, () => {
  let box: Box;
  /** Backups and archives that were written while there was space. */
  let folder: string;
  let registry: TestRegistry;
  let image: string;
  let before: string;
  const objects = async (): Promise<string> => (await box.run("get", kinds, "-o", "name")).stdout;
  const filler = (): string => join(box.dataDir, "filler");
  const fill = (): unknown => spawnSync("sh", ["-c", `cat /dev/zero >> ${filler()}`]);
  const images = async (): Promise<string> => (await box.run("image", "ls", "-o", "json")).stdout;
  const staged = (): string[] => {
    const folder = join(box.dataDir, "node/images/staging");
    return existsSync(folder) ? readdirSync(folder) : [];
  };

  beforeAll(async () => {
    buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), "agent-sandbox-full-"));
    mkdirSync(join(folder, "registry"));
    registry = await startRegistry(join(folder, "registry"));
    const content = { layers: [[file("hello", "there")]] };
    await writeTestArchive(folder, content, "thing:v1");
    image = `${registry.address}/thing:v1`;
    await registry.push(content, "thing:v1");
    box = await Box.make();
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=96m,mode=700", "none", box.dataDir]);
    if (mounted.status !== 0) throw new Error(`Cannot mount: ${mounted.stderr.toString()}`);
    const { code, stderr } = await box.up("--default-runtime", "runc");
    if (code !== 0) throw new Error(stderr);
    const registries = JSON.stringify([{ name: registry.address, insecure: true }]);
    await box.run("config", "set", "node.images.registries", registries);
    for (const words of [
      ["create", "work"],
      ["exec", "work", "--", "sh", "-c", "head -c 1000000 /dev/urandom > /root/large"],
      ["snapshot", "create", "work", "kept"],
      ["snapshot", "export", "kept", "-o", join(folder, "kept.tar")],
      ["backup", join(folder, "backup")],
    ]) {
      const { code, stderr } = await box.run(...words);
      if (code !== 0) throw new Error(stderr);
    }
    before = await objects();
  }, 120_000);
  afterAll(async () => {
    if (box !== undefined) rmSync(filler(), { force: true });
    await box?.run("down", "--purge");
    if (box !== undefined) spawnSync("umount", ["--lazy", box.dataDir]);
    await box?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    // The node may stop the Pod before, to get space.
    ["snapshot create work second --timeout 5s", /no space left|disk is (?:too )?full|no running Pod|use --timeout/],
    ["image pull IMAGE", full],
    ["image load FOLDER/image.tar", full],
    ["snapshot import FOLDER/kept.tar --name third", full],
    ["create slow --image IMAGE --timeout 3s", full],
    ["run --rm --image IMAGE --timeout 3s -- /hello", full],
    ["restore FOLDER/backup", /no space left on device: the restore needs .*, and .* are free/],
  ])("%s says so in one line", async (line, says) => {
    // The node has removed what it could.
    fill();
    const words = line.split(" ").map((word) => word.replace("FOLDER", folder).replace("IMAGE", image));
    const { code, stdout, stderr } = await box.run(...words);
    expect({ code, stdout, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
    expect(stderr).toMatch(says);
  });

  test("nothing is left behind", async () => {
    await expect.poll(objects, { timeout: 30_000 }).toBe(before);
  });

  test("after there is space again, everything works", async () => {
    rmSync(filler());
    expect(JSON.parse(await images())).toEqual([]);
    await expect.poll(staged).toEqual([]);
    const { code, stderr } = await box.run("wait", "sandbox/work", "--for=condition=Ready", "--timeout=60s");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const line of ["image pull IMAGE", "snapshot create work second", "restore FOLDER/backup"]) {
      const words = line.split(" ").map((word) => word.replace("FOLDER", folder).replace("IMAGE", image));
      expect(await box.run(...words)).toMatchObject({ code: 0 });
    }
    await expect.poll(objects, { timeout: 30_000 }).toBe(before);
    expect(await box.run("wait", "sandbox/work", "--for=condition=Ready", "--timeout=60s")).toMatchObject({ code: 0 });
    expect((await box.run("exec", "work", "--", "echo", "still here")).stdout).toBe("still here\n");
  });
});
