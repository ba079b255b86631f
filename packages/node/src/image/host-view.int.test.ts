import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Layout, layoutOf } from "../layout.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
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

test("what is hidden cannot be seen, the rest is as it was and cannot be changed", async () => {
  const hidden = ["local/etc", "share/private", "share/shadow", "share/not-there"].map((one) => join(path, one));
  const view = await mountHostView(layout, { path, hidden: [...hidden, "/etc/passwd"] });
  expect((await filesIn(view)).toSorted()).toEqual(["bin/tool", "share/public"]);
  expect(await readFile(join(view, "bin/tool"), "utf8")).toBe("bin/tool");
  expect((await lstat(join(view, "local"))).mode & 0o7777).toBe(0o2775);
  await expect(writeFile(join(view, "bin/tool"), "changed")).rejects.toMatchObject({ code: "EROFS" });
  expect(await readFile(join(path, "share/shadow"), "utf8")).toBe("share/shadow");
});

test("the same view is mounted once, and another takes its place", async () => {
  const first = await mountHostView(layout, { path, hidden: [] });
  expect(await mountHostView(layout, { path, hidden: [] })).toBe(first);
  const second = await mountHostView(layout, { path, hidden: [join(path, "bin/tool")] });
  expect(await mountsUnder(layout.runDir)).toEqual([second]);
  expect(await readdir(join(second, "bin"))).toEqual([]);
});
