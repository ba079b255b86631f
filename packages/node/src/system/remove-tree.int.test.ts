import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { libc, mountFlags } from "./libc.ts";
import { unmount } from "./mounts.ts";
import { removeTree } from "./remove-tree.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remove-tree-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function sentinels(name: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  for (let index = 0; index < 50; index++) await writeFile(join(path, `keep-${index}`), "");
  return path;
}

/** Puts a folder and a link to the sentinels in each other's place as fast as it can, until it is killed. */
const swapper = `
import ctypes, itertools, os, sys
tree, target = sys.argv[1:]
libc = ctypes.CDLL(None)
link = os.path.join(tree, "link").encode()
os.symlink(target, link)
print("ready", flush=True)
for index in itertools.cycle(range(30)):
    libc.renameat2(-100, link, -100, os.path.join(tree, str(index)).encode(), 2)
`;

test("files outside stay while a container replaces folders by links during the removal", async () => {
  const outside = await sentinels("outside");
  for (let round = 0; round < 5; round++) {
    const tree = join(folder, `tree-${round}`);
    for (let index = 0; index < 30; index++) {
      await mkdir(join(tree, String(index)), { recursive: true });
      for (let file = 0; file < 20; file++) await writeFile(join(tree, String(index), `keep-${file}`), "");
    }
    const attacker = spawn("python3", ["-c", swapper, tree, outside], { stdio: ["ignore", "pipe", "ignore"] });
    await new Promise((resolve) => attacker.stdout.once("data", resolve));
    await removeTree(tree).catch(() => undefined);
    const ended = new Promise((resolve) => attacker.once("exit", resolve));
    attacker.kill("SIGKILL");
    await ended;
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  }
  expect(await readdir(outside)).toHaveLength(50);
});

test("a link in place of the folder is removed, not its target", async () => {
  const outside = await sentinels("linked");
  const link = join(folder, "link");
  await symlink(outside, link);
  await removeTree(link);
  expect([existsSync(link), (await readdir(outside)).length]).toEqual([false, 50]);
});

test("a volume of the same filesystem that is still mounted below is not removed", async () => {
  const volume = await sentinels("volume");
  const tree = join(folder, "with-mount");
  const point = join(tree, "a", "point");
  await mkdir(point, { recursive: true });
  libc().mount(volume, point, { flags: mountFlags.bind });
  try {
    await expect(removeTree(tree)).rejects.toThrow("is still mounted");
    expect(await readdir(volume)).toHaveLength(50);
  } finally {
    await unmount([point]);
  }
  await removeTree(tree);
  expect([existsSync(tree), (await readdir(volume)).length]).toEqual([false, 50]);
});
