import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Images, openImages } from "../../packages/node/src/image/open-images.ts";
import { IsolatedPulls, removePullNetns } from "../../packages/node/src/image/pull-network.ts";
import { type Layout, layoutOf } from "../../packages/node/src/layout.ts";
import { file, type TestEntry, type TestImage } from "../../packages/node/src/testing/test-image.ts";
import { type HostileRegistry, openOutside, startHostileRegistry } from "./images-registry.ts";
import { noWorld } from "./why-no-world.ts";

const link = (name: string, linkname: string, type: "symlink" | "link" = "symlink"): TestEntry => ({
  name,
  type,
  linkname,
});
const limits = { imageBytes: 4 * 2 ** 20, imageEntries: 500 };

describe.skipIf(noWorld)("a hostile image over HTTPS", () => {
  let folder: string;
  let outside: Awaited<ReturnType<typeof openOutside>>;
  let registry: HostileRegistry;
  let layout: Layout;
  let pulls: IsolatedPulls;
  let images: Images;
  /** A private file of the machine, outside the store. */
  let sentinel: string;
  let count = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hostile-image-"));
    outside = await openOutside();
    registry = await startHostileRegistry(folder, outside.netns);
    process.env["SSL_CERT_FILE"] = registry.certificate;
    await mkdir(join(folder, "machine"), { mode: 0o700 });
    sentinel = join(folder, "machine", "private");
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await outside?.[Symbol.asyncDispose]();
    delete process.env["SSL_CERT_FILE"];
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await writeFile(sentinel, "untouched", { mode: 0o600 });
    layout = layoutOf(await mkdtemp(join(folder, "data-")));
    pulls = new IsolatedPulls(layout);
    registry.meddle = undefined;
    images = await openImages({ layout, network: pulls, limits });
  });
  afterEach(async () => {
    await pulls[Symbol.asyncDispose]();
    await removePullNetns(layout);
    await rm(layout.runDir, { recursive: true, force: true });
  });

  const put = async (image: TestImage): Promise<string> => {
    const name = `hostile-${count++}`;
    await registry.put(image, `${name}:v1`);
    return `${registry.address}/${name}:v1`;
  };
  const namesIn = (path: string): Promise<string[]> => readdir(join(layout.imagesDir, path)).catch(() => []);

  /** Checks that no part of the image is kept and that no file outside the store has changed. */
  const leftNothing = async (): Promise<void> => {
    expect(await images.list()).toEqual([]);
    expect(await namesIn("layers")).toEqual([]);
    expect(await namesIn("staging")).toEqual([]);
    expect(await readFile(sentinel, "utf8")).toBe("untouched");
    expect((await stat(sentinel)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, "machine"))).toEqual(["private"]);
  };

  test.for<[string, (target: string) => readonly TestEntry[]]>([
    ["a path that climbs", (target) => [file(`../../../../../../../..${target}`, "evil")]],
    ["an absolute path", (target) => [file(target, "evil")]],
    ["a file below a link to outside", (target) => [link("out", join(target, "..")), file("out/private", "evil")]],
    [
      "a folder below a link to outside",
      (target) => [link("out", join(target, "..")), { name: "out/x", type: "directory" }],
    ],
    [
      "a link below a link to outside",
      (target) => [link("out", join(target, "..")), link("out/private", "/etc/passwd")],
    ],
    ["a hard link to a file outside", (target) => [link("mine", target, "link")]],
    ["a hard link through a link", (target) => [link("out", join(target, "..")), link("mine", "out/private", "link")]],
    ["a whiteout below a link to outside", (target) => [link("out", join(target, "..")), file("out/.wh.private")]],
    ["a whiteout that climbs", () => [file("a/.wh...", "")]],
    ["a device", () => [{ name: "sda", type: "block-device", devmajor: 8, devminor: 0 }]],
    ["a pipe that would block a reader", () => [{ name: "pipe", type: "fifo" }]],
    ["a folder with files replaced by a file", () => [file("a/b", "x"), file("a", "y")]],
    ["an owner beyond the largest id", () => [file("a", "x", { pax: { uid: "4294967296" } })]],
    ["more entries than the limit", () => Array.from({ length: 600 }, (_, index) => file(`f${index}`))],
    ["a header of many megabytes", () => [file("a", "x", { pax: { comment: "c".repeat(10 * 2 ** 20) } })]],
  ])("a layer with %s is refused", async ([, entries]) => {
    const name = await put({ layers: [entries(sentinel)] });
    await expect(images.resolve(name)).rejects.toMatchObject({ reason: "ErrImagePull" });
    await leftNothing();
  });

  test.for([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ] as const)("a bomb in %s is refused before it is unpacked", async ([, encode]) => {
    const name = await put({ layers: [[file("zeros", "\0".repeat(64 * 2 ** 20))]], encode });
    await expect(images.resolve(name)).rejects.toThrow(/more than \d+ bytes/);
    await leftNothing();
    await images.resolve(await put({ layers: [[file("honest", "x")]] }));
  });

  test("an opaque folder replaces a link to the outside", async () => {
    const out = join(sentinel, "..");
    const name = await put({ layers: [[link("out", out), file("out/.wh..wh..opq")]] });
    const { layers } = await images.resolve(name);
    expect((await lstat(join(layers[0] ?? "", "out"))).isDirectory()).toBe(true);
    expect(await readdir(out)).toEqual(["private"]);
  });

  test("a whiteout affects only the image, and setuid files keep their own owner", async () => {
    const name = await put({
      layers: [[file("etc/passwd", "x")], [file("etc/.wh.passwd"), file("su", "x", { mode: 0o4755 })]],
    });
    const { layers } = await images.resolve(name);
    const found = await stat(join(layers[0] ?? "", "su"));
    expect([found.mode & 0o7777, found.uid]).toEqual([0o4755, 0]);
    expect(await readFile(sentinel, "utf8")).toBe("untouched");
  });

  test.for([
    ["a layer with other content", "/blobs/", (content: Buffer) => Buffer.concat([content, Buffer.from("x")])],
    ["a layer of the announced size with other content", "/blobs/", (content: Buffer) => Buffer.alloc(content.length)],
    [
      "a manifest that changes between two requests",
      "/manifests/sha256",
      (content: Buffer) => Buffer.concat([content, Buffer.from(" ")]),
    ],
    ["a manifest of many megabytes", "/manifests/", () => Buffer.alloc(8 * 2 ** 20, " ")],
    ["a manifest that is not JSON", "/manifests/", () => Buffer.from("[[[[")],
    ["a manifest without layers", "/manifests/", () => Buffer.from('{"schemaVersion":2,"layers":null}')],
  ] as const)("%s is refused", async ([, part, change]) => {
    const name = await put({ layers: [[file("a", "content")]] });
    const content = Buffer.from("content that stands for the real one");
    registry.meddle = (path, answer) => {
      if (!path.includes(part)) return false;
      answer.writeHead(200, { "content-type": "application/vnd.oci.image.manifest.v1+json" }).end(change(content));
      return true;
    };
    await expect(images.resolve(name)).rejects.toMatchObject({ reason: "ErrImagePull" });
    registry.meddle = undefined;
    await leftNothing();
  });

  test.for<[string, object]>([
    ["variables that are no list", { Env: "A=1" }],
    ["a user with a zero byte", { User: "root\0" }],
    ["an entrypoint that is no list", { Entrypoint: { 0: "sh" } }],
    ["a working directory that is no text", { WorkingDir: 7 }],
  ])("a configuration with %s is refused", async ([, config]) => {
    const name = await put({ layers: [[file("a", "content")]], config });
    await expect(images.resolve(name)).rejects.toMatchObject({ reason: "ErrImagePull" });
    expect(await images.list()).toEqual([]);
  });
});
