import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

const secret = "a token of the machine's administrator";

/** A tenant tries to read files that the administrator makes private while the tenant's sandboxes run. */
describe.skipIf(noWorld)("private files of the machine", () => {
  let world: World;
  let mallory: Tenant;
  let folder: string;

  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    folder = await mkdtemp("/usr/local/share/private-int-");
    await chmod(folder, 0o755);
    await writeFile(join(folder, "public"), "public");
    await writeFile(join(folder, "becomes-private"), secret);
    await Promise.all(world.runtimes.map((runtime) => mallory.runPod(`before-${runtime}`, { runtime })));
    await writeFile(join(folder, "file-0600"), secret, { mode: 0o600 });
    for (const [name, mode] of [
      ["folder-0700", 0o700],
      ["folder-0744", 0o744],
    ] as const) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "key"), secret);
      await chmod(join(folder, name), mode);
    }
    await chmod(join(folder, "becomes-private"), 0o640);
    await Promise.all(world.runtimes.map((runtime) => mallory.runPod(`after-${runtime}`, { runtime })));
  });
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const everywhere = (script: string): Promise<string[]> => {
    const sandboxes = world.runtimes.flatMap((runtime) => [`before-${runtime}`, `after-${runtime}`]);
    return Promise.all(sandboxes.map((name) => mallory.shell(name, script)));
  };

  test.for(["file-0600", "becomes-private", "folder-0700/key", "folder-0744/key"])(
    "%s cannot be read by root of any sandbox",
    async (file) => {
      const said = await everywhere(
        `cat ${folder}/${file} 2>/dev/null; ln -sf ${folder} /tmp/link; dd if=/tmp/link/${file} 2>/dev/null`,
      );
      expect(said.join("")).toBe("");
    },
  );

  test("a closed folder cannot be listed, and the permissions cannot be changed", async () => {
    const script = `ls ${folder}/folder-0700 2>/dev/null; chmod -R a+rX ${folder} 2>/dev/null; chown -R 0:0 ${folder} 2>/dev/null; cat ${folder}/file-0600 2>/dev/null`;
    expect((await everywhere(script)).join("")).toBe("");
    expect(await everywhere(`cat ${folder}/public`)).toEqual(world.runtimes.flatMap(() => ["public", "public"]));
  });
});
