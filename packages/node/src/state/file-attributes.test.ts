import { mkdir, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type Header, pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { attributeCalls } from "../system/attributes.ts";
import { packTree } from "./pack-tree.ts";
import { EntryBudget, unpackTree } from "./unpack-tree.ts";

describe("extended attributes of files in an archive", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "attributes-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const source = (...names: string[]): string => join(root, "source", ...names);
  const target = (...names: string[]): string => join(root, "target", ...names);

  async function set(path: string, name: string, value: Uint8Array | string): Promise<void> {
    const file = await open(path, "r");
    try {
      attributeCalls().set(file.fd, name, Buffer.from(value));
    } finally {
      await file.close();
    }
  }

  const valuesOf = (path: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      attributeCalls()
        .list(path)
        .map((name) => [name, attributeCalls().read(path, name).toString("latin1")]),
    );

  async function* of(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes.length; from += 65_536) yield bytes.subarray(from, from + 65_536);
  }
  const unpack = (bytes: Uint8Array): Promise<void> => unpackTree(of(bytes), target(), new EntryBudget(10_000));

  test("come back, with any name and any bytes", async () => {
    await mkdir(source("folder"), { recursive: true });
    await writeFile(source("folder", "file"), "content");
    await writeFile(source("plain"), "");
    const any = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    await set(source(), "user.root", "1");
    await set(source("folder"), "user.folder", "");
    await set(source("folder", "file"), "user.any", any);
    await set(source("folder", "file"), "user.a=b %\nü", "=\n");
    let omitted = 0;
    const bytes = await buffer(packTree(source(), () => (omitted += 1)));
    expect((await buffer(packTree(source()))).equals(bytes)).toBe(true);
    await unpack(bytes);
    expect(omitted).toBe(0);
    expect(valuesOf(target())).toEqual({ "user.root": "1" });
    expect(valuesOf(target("folder"))).toEqual({ "user.folder": "" });
    expect(valuesOf(target("folder", "file"))).toEqual({ "user.any": any.toString("latin1"), "user.a=b %\nü": "=\n" });
    expect(valuesOf(target("plain"))).toEqual({});
    expect(await readFile(target("folder", "file"), "utf8")).toBe("content");
  });

  test("are counted if an archive cannot have them", async () => {
    await mkdir(source());
    for (const name of ["many", "overlay"]) await writeFile(source(name), "");
    for (let index = 0; index < 110; index++) await set(source("many"), `user.${index}`, "");
    await set(source("overlay"), "user.overlay.opaque", "y");
    let omitted = 0;
    await unpack(await buffer(packTree(source(), () => (omitted += 1))));
    // An attribute of overlayfs is not one of the user.
    expect(omitted).toBe(1);
    expect(Object.keys(valuesOf(target("many")))).toHaveLength(100);
    expect(valuesOf(target("overlay"))).toEqual({});
  });

  type Entry = readonly [Partial<Header> & { name: string }, string?];
  const ids = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const archiveOf = async (...entries: readonly Entry[]): Promise<Buffer> => {
    const archive = pack();
    for (const [header, content = ""] of entries) archive.entry({ ...ids, ...header }, content);
    archive.finalize();
    return buffer(archive);
  };
  const fileWith = (pax: Record<string, string>): Entry => [{ name: "file", pax }, "x"];
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`LIBARCHIVE.xattr.user.${index}`, ""]));
  const large = Buffer.alloc(70_000).toString("base64");

  test.for([
    ["a capability", { "LIBARCHIVE.xattr.security.capability": "AAAA" }],
    ["a capability in another form", { "SCHILY.xattr.security.capability": "x" }],
    ["a mark of overlayfs", { "LIBARCHIVE.xattr.trusted.overlay.opaque": "eQ==" }],
    ["a mark of overlayfs for users", { "LIBARCHIVE.xattr.user.overlay.redirect": "eQ==" }],
    ["an encoded mark of overlayfs", { "LIBARCHIVE.xattr.%75ser.overlay.redirect": "eQ==" }],
    ["an access list", { "SCHILY.acl.access": "user::rwx" }],
    ["a name without anything after the namespace", { "LIBARCHIVE.xattr.user.": "" }],
    ["a name with a zero byte", { "LIBARCHIVE.xattr.user.a%00b": "" }],
    ["a name that is not UTF-8", { "LIBARCHIVE.xattr.user.%ff": "" }],
    ["a name that is too long", { [`LIBARCHIVE.xattr.user.${"a".repeat(300)}`]: "" }],
    ["a value that is not base64", { "LIBARCHIVE.xattr.user.a": "!!" }],
    ["a value that is too large", { "LIBARCHIVE.xattr.user.a": large }],
    ["too many", many],
  ] as const)("%s is refused", async ([, pax]) => {
    await expect(unpack(await archiveOf(fileWith(pax)))).rejects.toMatchObject({ reason: "ArchiveInvalid" });
  });

  test("a header for all files that follow cannot set more than the archive has bytes", async () => {
    const value = Buffer.alloc(3000, 1).toString("base64");
    const bytes = await archiveOf(
      fileWith({ "LIBARCHIVE.xattr.user.a": value }),
      ...Array.from({ length: 100 }, (_, index): Entry => [{ name: `f${index}`, pax: { comment: "x" } }]),
    );
    // The header of the first file becomes one for all files.
    const header = bytes.subarray(0, 512);
    header[156] = "g".charCodeAt(0);
    header.fill(" ", 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    await expect(unpack(bytes)).rejects.toThrow("the extended attributes are too large");
  });

  test("links have none", async () => {
    const pax = { "LIBARCHIVE.xattr.user.a": "eQ==" };
    const link: Entry = [{ name: "link", type: "symlink", linkname: "/etc/shadow", pax }];
    await unpack(
      await archiveOf(link, [{ name: "file" }, "x"], [{ name: "hard", type: "link", linkname: "file", pax }]),
    );
    expect([valuesOf(target("link")), valuesOf(target("file"))]).toEqual([{}, {}]);
  });
});
