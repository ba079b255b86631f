import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OciMount, OciSpec } from "../oci/spec.ts";
import { placeMounts } from "./place-mounts.ts";

let base: string;
let rootfs: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "place-mounts-"));
  rootfs = join(base, "rootfs");
  for (const name of ["dev", "proc", "sys", "run", "etc", "var"]) mkdirSync(join(rootfs, name), { recursive: true });
  writeFileSync(join(rootfs, "etc/hosts"), "");
  writeFileSync(join(base, "file"), "");
  link("/run", "var/run");
});
afterEach(() => rmSync(base, { recursive: true }));

function link(target: string, path: string): void {
  mkdirSync(dirname(join(rootfs, path)), { recursive: true });
  symlinkSync(target, join(rootfs, path));
}
function volume(name: string): string {
  const path = join(base, name);
  mkdirSync(path, { recursive: true });
  return path;
}
const kernel = (destination: string, type = "tmpfs"): OciMount => ({ destination, type, source: type, options: [] });
const bind = (destination: string, source: string, access = "rw"): OciMount => ({
  destination,
  type: "bind",
  source,
  options: ["rbind", access],
});
const system = [kernel("/proc", "proc"), kernel("/dev"), kernel("/dev/shm"), kernel("/sys", "sysfs"), kernel("/run")];

function place(mounts: readonly OciMount[], cwd = "/"): string[] {
  const spec = { root: { path: rootfs, readonly: false }, process: { cwd }, mounts: [...system, ...mounts] };
  return placeMounts(spec as unknown as OciSpec)
    .mounts.slice(system.length)
    .map(({ destination }) => destination);
}

describe("placeMounts() resolves the destination", () => {
  test.for([
    ["a missing folder", "/data/deep", "/data/deep"],
    ["repeated and trailing slashes", "//data//x/", "/data/x"],
    ["a link in the image", "/var/run/secrets", "/run/secrets"],
    ["a path in /dev that is named literally", "/dev/shm", "/dev/shm"],
    ["a file in /dev that is named literally", "/dev/termination-log", "/dev/termination-log"],
  ] as const)("%s", ([, wanted, expected]) => {
    expect(place([bind(wanted, volume("v"))])).toEqual([expected]);
  });

  test("creates missing mount points as folders and files", () => {
    place([bind("/data/deep", volume("v")), bind("/data/file", join(base, "file"))]);
    const kinds = ["data/deep", "data/file"].map((path) => lstatSync(join(rootfs, path)).isDirectory());
    expect(kinds).toEqual([true, false]);
  });

  test("links and .. cannot leave the root filesystem", () => {
    link(base, "absolute");
    link("../../../..", "above");
    expect(place([bind("/absolute/x", volume("v")), bind("/above/y", volume("w"))])).toEqual([`${base}/x`, "/y"]);
    expect([existsSync(join(base, "x")), existsSync(join(rootfs, base, "x"))]).toEqual([false, true]);
  });
});

describe("placeMounts() refuses links into /proc, /sys and /dev", () => {
  test.for([
    ["the root", "/", "/x"],
    ["a folder of the kernel", "/", "/x/dev"],
    ["a relative link", "../..", "/x/dev"],
    ["a file below", "/proc/sys/kernel", "/x/core_pattern"],
    ["a link as the last part of the path", "/dev", "/x"],
    ["a link through a link of the image", "/var/run/../../sys", "/x/fs"],
  ] as const)("%s", ([, target, path]) => {
    link(target, "x");
    expect(() => place([bind(path, volume("v"))])).toThrow(/^Cannot mount at "\/x.*leads to "\/(dev|proc|sys|")/);
  });

  test("a link in place of /etc", () => {
    rmSync(join(rootfs, "etc"), { recursive: true });
    link("/proc/self", "etc");
    expect(() => place([bind("/etc/hosts", join(base, "file"))])).toThrow('leads to "/proc/self/hosts"');
  });

  test("a kernel folder that is itself a link", () => {
    rmSync(join(rootfs, "dev"), { recursive: true });
    link("/data", "dev");
    expect(() => place([])).toThrow('Cannot mount at "/dev"');
  });

  test("circular links, and a path below a file", () => {
    link("/b", "a");
    link("/a", "b");
    expect(() => place([bind("/a/x", volume("v"))])).toThrow("more than 40 links");
    expect(() => place([bind("/etc/hosts/x", volume("v"))])).toThrow('"/etc/hosts/x" is below a file');
  });
});

describe("mounts within volumes", () => {
  test("links in a volume resolve in the container's root", () => {
    const outer = volume("outer");
    symlinkSync("/", join(outer, "root"));
    symlinkSync("inner", join(outer, "near"));
    expect(place([bind("/v", outer), bind("/v/near/x", volume("w"))])).toEqual(["/v", "/v/inner/x"]);
    expect(readdirSync(outer).toSorted()).toEqual(["inner", "near", "root"]);
    expect(() => place([bind("/v", outer), bind("/v/root/dev", volume("w"))])).toThrow('leads to "/dev"');
  });

  test("a later mount hides the links below it", () => {
    const [hidden, cover] = [volume("hidden"), volume("cover")];
    symlinkSync("/", join(cover, "y"));
    const mounts = [bind("/z/y", hidden), bind("/z", cover), bind("/z/y/dev", volume("w"))];
    expect(() => place(mounts)).toThrow('leads to "/dev"');
  });

  test("no mount point is created in a read-only volume", () => {
    const outer = volume("outer");
    expect(() => place([bind("/v", outer, "ro"), bind("/v/x", volume("w"))])).toThrow("read-only volume");
    expect(readdirSync(outer)).toEqual([]);
  });
});

describe("a working directory", () => {
  test.for(["/", "/data/missing", "/var/run", "/dev", "relative"])("%s", (cwd) => {
    expect(place([], cwd)).toEqual([]);
  });

  test.for([
    ["a file descriptor of the runtime", "/proc/self/fd/7", undefined],
    ["a link to a file descriptor", "/x", "/proc/self/fd/7"],
    ["a link in the middle of the path", "/x/fd/7", "proc/self"],
  ] as const)("is refused: %s", ([, cwd, target]) => {
    if (target !== undefined) link(target, "x");
    expect(() => place([], cwd)).toThrow("Cannot use working directory");
  });
});
