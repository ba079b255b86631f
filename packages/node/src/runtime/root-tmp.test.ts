import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OciMount, OciSpec } from "../oci/spec.ts";
import { keepTmpOnRoot } from "./root-tmp.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "root-tmp-"));
  mkdirSync(join(folder, "rootfs"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function mountsOf(mounts: readonly OciMount[], readonly = false): readonly OciMount[] {
  const spec = { root: { path: join(folder, "rootfs"), readonly }, mounts } as OciSpec;
  return keepTmpOnRoot(spec).mounts;
}

const proc = { destination: "/proc", type: "proc", source: "proc", options: [] };
const below = { destination: "/tmp/cache", type: "bind", source: "/x", options: ["bind"] };
const emptyDir = { destination: "/tmp", type: "bind", source: "/x", options: ["bind"] };

describe("/tmp of a container under gVisor", () => {
  test("is a folder of the root filesystem", () => {
    mkdirSync(join(folder, "rootfs/tmp"), { mode: 0o755 });
    expect(mountsOf([proc, below]).map(({ destination, type }) => `${destination} ${type}`)).toEqual([
      "/proc proc",
      "/tmp/cache bind",
      "/tmp rootfs",
    ]);
    expect(statSync(join(folder, "rootfs/tmp")).mode & 0o7777).toBe(0o755);
  });

  test("is made if the image has none", () => {
    mountsOf([proc]);
    expect(statSync(join(folder, "rootfs/tmp")).mode & 0o7777).toBe(0o1777);
  });

  test.for<[string, readonly OciMount[], boolean]>([
    ["is the volume that the Pod mounts there", [proc, emptyDir], false],
    ["is memory if the root filesystem is read-only", [proc], true],
  ])("%s", ([, mounts, readonly]) => {
    expect(mountsOf(mounts, readonly)).toEqual(mounts);
    expect(readdirSync(join(folder, "rootfs"))).toEqual([]);
  });

  test("is not looked for on the machine when a container left a link there", () => {
    mkdirSync(join(folder, "machine"), { mode: 0o700 });
    symlinkSync(join(folder, "machine"), join(folder, "rootfs/tmp"));
    mountsOf([proc]);
    expect(statSync(join(folder, "machine")).mode & 0o7777).toBe(0o700);
    expect(readdirSync(join(folder, "machine"))).toEqual([]);
  });
});
