import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import { mountOverlay, unmount } from "../system/mounts.ts";
import { runCommand } from "../system/run-command.ts";
import { file, type TestEntry, type TestImage, writeTestArchive } from "../testing/test-image.ts";
import { type ImageOptions, type Images, openImages } from "./open-images.ts";

const name = "docker.io/library/thing:v1";

describe("images from archives", () => {
  let folder: string;
  let dataDir: string;
  let images: Images;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "archive-int-"));
    dataDir = join(folder, "data");
    images = await openImages({ layout: layoutOf(dataDir) });
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(layoutOf(dataDir).runDir, { recursive: true, force: true });
  });

  const load = async (image: TestImage): Promise<void> => {
    const own = await mkdtemp(join(folder, "image-"));
    await images.load(await writeTestArchive(own, image, "thing:v1"));
  };
  const withOptions = async (options: Partial<ImageOptions>): Promise<void> => {
    images = await openImages({ layout: layoutOf(dataDir), ...options });
  };
  const rootOf = async (): Promise<string> => (await images.resolve(name)).layers[0] ?? "";

  test("files, modes, owners, links and times are those of the archive", async () => {
    const mtime = new Date(1_000_000_000_000);
    await load({
      layers: [
        [
          { name: "./", type: "directory", mode: 0o755 },
          { name: "bin/", type: "directory", mode: 0o750, uid: 7, gid: 8, mtime },
          file("bin/tool", "#!", { mode: 0o4755, uid: 1000, gid: 1001, mtime }),
          { name: "bin/alias", type: "symlink", linkname: "/etc/../bin/tool" },
          { name: "bin/same", type: "link", linkname: "bin/tool" },
          file("a/b/c/deep", "deep"),
          file("bin/twice", "first"),
          file("bin/twice", "second"),
        ],
      ],
    });
    const root = await rootOf();
    expect(await lstat(join(root, "bin/tool"))).toMatchObject({
      mode: 0o104_755,
      uid: 1000,
      gid: 1001,
      nlink: 2,
      mtime,
    });
    expect(await lstat(join(root, "bin"))).toMatchObject({ mode: 0o040_750, uid: 7, gid: 8 });
    expect((await lstat(join(root, "bin/alias"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(root, "a/b/c/deep"), "utf8")).toBe("deep");
    expect(await readFile(join(root, "bin/twice"), "utf8")).toBe("second");
  });

  test("files that an upper layer hides do not exist in the mounted image", async () => {
    await load({
      layers: [
        [
          file("etc/one", "1"),
          file("etc/two", "2"),
          file("opt/old", "o"),
          file("srv/was-folder/x", "x"),
          file("top", "t"),
        ],
        [
          file("etc/.wh.one"),
          file(".wh.top"),
          file("opt/.wh..wh..opq"),
          file("opt/new", "n"),
          file("srv/was-folder/new", "new"),
          file("srv/.wh.was-folder"),
        ],
      ],
    });
    const { layers } = await images.resolve(name);
    const [target, upper, work] = ["target", "upper", "work"].map((part) => join(folder, part));
    for (const path of [target, upper, work]) await mkdir(path ?? "");
    await mountOverlay(target ?? "", { lower: layers, upper: upper ?? "", work: work ?? "" });
    const seen = await runCommand("find", [target ?? "", "-type", "f", "-printf", "%P\n"]);
    await unmount([target ?? ""]);
    expect(seen.trim().split("\n").toSorted()).toEqual(["etc/two", "opt/new", "srv/was-folder/new"]);
  });

  test.for([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
    ["nothing", (archive: Buffer) => archive],
  ] as const)("a layer compressed with %s", async ([, encode]) => {
    await load({ layers: [[file("hello", "there")]], encode });
    expect(await readFile(join(await rootOf(), "hello"), "utf8")).toBe("there");
  });

  const hostile: readonly (readonly [string, readonly TestEntry[], RegExp])[] = [
    ["an absolute path", [file("/etc/evil", "x")], /outside the image/],
    ["a path that climbs", [file("a/../../../evil", "x")], /outside the image/],
    [
      "a file through a link out of the root",
      [{ name: "way", type: "symlink", linkname: "/tmp" }, file("way/evil", "x")],
      /"way" is not a directory/,
    ],
    [
      "a folder through a link",
      [
        { name: "way", type: "symlink", linkname: "../../.." },
        { name: "way/evil/", type: "directory" },
      ],
      /"way" is not a directory/,
    ],
    [
      "a hard link to outside",
      [{ name: "shadow", type: "link", linkname: "../../../../etc/shadow" }],
      /not in the image/,
    ],
    [
      "a hard link through a link",
      [
        { name: "way", type: "symlink", linkname: "/etc" },
        { name: "shadow", type: "link", linkname: "way/shadow" },
      ],
      /"way" is not a directory/,
    ],
    [
      "a whiteout through a link",
      [{ name: "way", type: "symlink", linkname: "/tmp" }, file("way/.wh.evil")],
      /not a directory/,
    ],
    ["a device", [{ name: "dev/mem", type: "character-device", devmajor: 1, devminor: 1 }], /character-device/],
    ["a pipe", [{ name: "pipe", type: "fifo" }], /fifo/],
    ["an owner id that is too large", [file("a", "x", { pax: { uid: String(2 ** 31) } })], /invalid owner id/],
  ];
  test.for(hostile)("refuses %s, and keeps nothing of it", async ([, entries, expected]) => {
    await expect(load({ layers: [[file("first", "1"), ...entries]] })).rejects.toThrow(expected);
    expect(await images.list()).toEqual([]);
    expect(await readdir(join(dataDir, "node/images/layers"))).toEqual([]);
    expect(await readdir(join(dataDir, "node/images/staging"))).toEqual([]);
  });

  test("refuses bombs: too many bytes once unpacked, too many files", async () => {
    await withOptions({ limits: { imageBytes: 100_000, imageEntries: 50 } });
    await expect(load({ layers: [[file("zeros", "\0".repeat(200_000))]] })).rejects.toThrow(/more than 100000 bytes/);
    const many = Array.from({ length: 30 }, (_, index) => file(`${index}`));
    await expect(load({ layers: [many, many.map((one) => ({ ...one, mode: 0o600 }))] })).rejects.toThrow(
      /more than 50 files/,
    );
    expect(await images.list()).toEqual([]);
  });

  test("refuses a file that is not an image, an image for another architecture, and one with a wrong digest", async () => {
    const text = join(folder, "text.tar");
    await writeFile(text, "not an archive".repeat(100));
    await expect(images.load(text)).rejects.toThrow(`Cannot read archive "${text}"`);
    await expect(images.load(join(folder, "missing"))).rejects.toThrow("no such file");
    const empty = join(folder, "empty.tar");
    await runCommand("tar", ["-cf", empty, "-T", "/dev/null"]);
    await expect(images.load(empty)).rejects.toThrow("contains no image");
    await expect(load({ layers: [[file("a", "b")]], architecture: "s390x" })).rejects.toThrow(/architecture is s390x/);
    const encode = (archive: Buffer): Buffer => gzipSync(Buffer.concat([archive, Buffer.alloc(1024)]));
    await expect(load({ layers: [[file("a", "b")]], encode })).rejects.toMatchObject({ reason: "ErrImagePull" });
    expect(await images.list()).toEqual([]);
  });

  test("an image from a docker archive keeps all its names", async () => {
    const own = await mkdtemp(join(folder, "docker-"));
    const oci = await writeTestArchive(own, { layers: [[file("hello", "docker")]] }, "thing:v1");
    const docker = join(own, "docker.tar");
    const args = ["copy", "--additional-tag=registry.example.com/other:v2", `oci-archive:${oci}:thing:v1`];
    await runCommand("skopeo", ["--insecure-policy", ...args, `docker-archive:${docker}:thing:v1`]);
    await images.load(docker);
    expect(await images.list()).toMatchObject([{ names: [name, "registry.example.com/other:v2"] }]);
    expect(await readFile(join(await rootOf(), "hello"), "utf8")).toBe("docker");
  });

  test("an image is removed by name, by id or when it is unused, with the layers that no other image has", async () => {
    const shared = [file("shared", "s")];
    await load({ layers: [shared, [file("one", "1")]] });
    await load({ layers: [shared, [file("two", "2")]] });
    const [unnamed] = await images.list();
    expect(unnamed?.names).toEqual([]);
    expect(await images.prune("unnamed")).toMatchObject([{ id: unnamed?.id }]);
    expect(await readFile(join(await rootOf(), "two"), "utf8")).toBe("2");
    expect((await readdir(join(dataDir, "node/images/layers"))).filter((one) => !one.endsWith(".json"))).toHaveLength(
      2,
    );
    await expect(images.remove("nothing")).rejects.toThrow("not found");
    const [left] = await images.list();
    expect(await images.remove("thing:v1")).toEqual({ untagged: [name], removed: left?.id });
    expect(await readdir(join(dataDir, "node/images/layers"))).toEqual([]);
    const blobs = await runCommand("find", [join(dataDir, "node/images/blobs"), "-type", "f", "-size", "0"]);
    expect(blobs).toBe("");
  });

  test("an image that a Pod uses is not removed", async () => {
    await load({ layers: [[file("one", "1")]] });
    const { id } = await images.resolve(name);
    const pod = join(layoutOf(dataDir).podsDir, "some-uid");
    await mkdir(pod, { recursive: true });
    await writeFile(join(pod, "pod.json"), JSON.stringify({ containers: { main: { image: id } } }));
    await expect(images.remove(name)).rejects.toThrow("a Pod uses it");
    expect(await images.prune("unused")).toEqual([]);
    await withOptions({ limits: { storeBytes: 0, leastAgeMs: 0 } });
    expect(await images.collect()).toEqual([]);
    await rm(pod, { recursive: true });
    expect(await images.collect()).toMatchObject([{ id }]);
    expect(await images.list()).toEqual([]);
  });
});
