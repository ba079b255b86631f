import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Layout, layoutOf } from "../layout.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { findPrivate } from "./host-image.ts";
import { mountHostView } from "./host-view.ts";

let folder: string;
let path: string;
let layout: Layout;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "view-int-"));
  path = join(folder, "usr");
  layout = layoutOf(join(folder, "data"));
  for (const one of ["bin", "local/etc/deep", "share/private"]) await mkdir(join(path, one), { recursive: true });
  await Promise.all(
    ["bin/tool", "local/etc/deep/token", "share/private/key", "share/shadow", "share/public"].map((name) =>
      writeFile(join(path, name), name),
    ),
  );
  await chmod(join(path, "local"), 0o2775);
});
afterEach(async () => {
  await unmount(await mountsUnder(layout.runDir));
  await rm(layout.runDir, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

const filesIn = async (view: string): Promise<string[]> => {
  const entries = await readdir(view, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(view.length + 1));
};

describe.for([{ withoutOwners: true }, { withoutOwners: false }])("with %o", ({ withoutOwners }) => {
  test("hidden paths do not exist, and everything else is read-only and unchanged", async () => {
    const hidden = ["local/etc", "share/private", "share/shadow", "share/not-there"].map((one) => join(path, one));
    const view = await mountHostView(layout, { path, hidden: [...hidden, "/etc/passwd"], withoutOwners });
    expect((await filesIn(view)).toSorted()).toEqual(["bin/tool", "share/public"]);
    expect(await readFile(join(view, "bin/tool"), "utf8")).toBe("bin/tool");
    expect((await lstat(join(view, "local"))).mode & 0o7777).toBe(0o2775);
    await expect(writeFile(join(view, "bin/tool"), "changed")).rejects.toMatchObject({ code: "EROFS" });
    expect(await readFile(join(path, "share/shadow"), "utf8")).toBe("share/shadow");
  });

  test("a hidden path that is created later stays hidden, with its parent folders", async () => {
    const hidden = ["etc", "share/later/deep/token"].map((one) => join(path, one));
    const view = await mountHostView(layout, { path, hidden, withoutOwners });
    for (const one of ["etc", "share/later/deep"]) await mkdir(join(path, one), { recursive: true });
    for (const one of ["etc/npmrc", "share/later/deep/token"]) await writeFile(join(path, one), "secret");
    for (const one of ["etc/npmrc", "share/later/deep/token"]) {
      await expect(readFile(join(view, one))).rejects.toMatchObject({ code: "ENOENT" });
    }
    expect(await readFile(join(view, "share/public"), "utf8")).toBe("share/public");
  });

  test("the same view is mounted once, and a different view replaces it", async () => {
    const first = await mountHostView(layout, { path, hidden: [], withoutOwners });
    expect(await mountHostView(layout, { path, hidden: [], withoutOwners })).toBe(first);
    const second = await mountHostView(layout, { path, hidden: [join(path, "bin/tool")], withoutOwners });
    expect(await mountsUnder(layout.runDir)).toEqual([second]);
    expect(await readdir(join(second, "bin"))).toEqual([]);
  });
});

/** Runs as root, like the owner of the files and root in a runc container. */
test("without owners, files that are or become private cannot be read, and public files can", async () => {
  await writeFile(join(path, "bin/before"), "secret", { mode: 0o600 });
  const view = await mountHostView(layout, { path, hidden: [], withoutOwners: true });
  // Read while they are public, so that the kernel has them in its caches before they become private.
  await filesIn(view);
  expect(await readFile(join(view, "share/public"), "utf8")).toBe("share/public");
  await writeFile(join(path, "share/later"), "secret", { mode: 0o600 });
  await chmod(join(path, "share/public"), 0o640);
  await chmod(join(path, "share/private"), 0o744);
  await chmod(join(path, "local/etc"), 0o700);
  for (const one of ["bin/before", "share/later", "share/public", "share/private/key", "local/etc/deep/token"]) {
    await expect(readFile(join(view, one))).rejects.toMatchObject({ code: "EACCES" });
  }
  await expect(readdir(join(view, "local/etc"))).rejects.toMatchObject({ code: "EACCES" });
  expect(await readFile(join(view, "bin/tool"), "utf8")).toBe("bin/tool");
});

test("a search finds files that others may not read, and folders that others may not list or enter", async () => {
  await writeFile(join(path, "bin/before"), "secret", { mode: 0o600 });
  await chmod(join(path, "share/private"), 0o744);
  await chmod(join(path, "local/etc"), 0o711);
  const expected = ["bin/before", "local/etc", "share/private"].map((one) => join(path, one));
  expect((await findPrivate(path)).toSorted()).toEqual(expected);
});
