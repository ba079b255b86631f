import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { hostPath } from "./host-path.ts";
import type { VolumeContext } from "./volume-kind.ts";

let base: string;
let allowed: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "host-path-"));
  allowed = join(base, "allowed");
  mkdirSync(join(allowed, "data"), { recursive: true });
  writeFileSync(join(allowed, "data/file"), "");
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/private"), "");
});
afterEach(async () => {
  await unmount(await mountsUnder(base));
  rmSync(base, { recursive: true, force: true });
});

async function shown(path: string, type = ""): Promise<string> {
  const folder = join(base, "pod", "volume");
  const machine = { rules: { allow: { hostPaths: [`${allowed}/`] } } };
  await hostPath.mount({ name: "v", hostPath: { path, type } }, { folder, machine } as unknown as VolumeContext);
  return folder;
}

test.for([
  ["a folder", "data", ""],
  ["a link that stays inside", "inside", ""],
  ["an absolute link into the folder", "absolute", "Directory"],
] as const)("shows %s", async ([, name, type]) => {
  symlinkSync("data", join(allowed, "inside"));
  symlinkSync(join(allowed, "data"), join(allowed, "absolute"));
  expect(readdirSync(await shown(join(allowed, name), type))).toEqual(["file"]);
});

test("creates missing folders and files", async () => {
  expect(readdirSync(await shown(join(allowed, "new/deep"), "DirectoryOrCreate"))).toEqual([]);
  expect(existsSync(join(allowed, "new/deep"))).toBe(true);
});

describe("a link that a Pod created in an allowed folder is not followed outside", () => {
  test.for([
    ["to mount a folder", "", ""],
    ["to mount a file", "/private", ""],
    ["to create a folder", "/planted", "DirectoryOrCreate"],
    ["to create a file", "/planted", "FileOrCreate"],
  ] as const)("%s", async ([, rest, type]) => {
    symlinkSync(join(base, "outside"), join(allowed, "absolute"));
    symlinkSync("../outside", join(allowed, "relative"));
    for (const link of ["absolute", "relative"]) {
      await expect(shown(join(allowed, link) + rest, type)).rejects.toThrow("leads out of its folder");
    }
    expect(readdirSync(join(base, "outside"))).toEqual(["private"]);
    expect(await mountsUnder(base)).toEqual([]);
  });

  test("whether or not the target exists", async () => {
    symlinkSync("/etc/passwd", join(allowed, "there"));
    symlinkSync("/nowhere", join(allowed, "missing"));
    const errors = await Promise.all(["there", "missing"].map((name) => shown(join(allowed, name)).catch(String)));
    expect(errors[1]).toBe(errors[0]?.replaceAll("there", "missing"));
  });
});

test.for(["/etc", "/", "../outside"])("a path that is not allowed is refused: %s", async (path) => {
  await expect(shown(path.startsWith("/") ? path : join(allowed, path))).rejects.toThrow("is not below a folder");
});
