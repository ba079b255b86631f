import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { type Header, pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { libc } from "../system/libc.ts";
import { runCommand } from "../system/run-command.ts";
import { packTree } from "./pack-tree.ts";
import { EntryBudget, unpackTree } from "./unpack-tree.ts";

describe.skipIf(process.getuid?.() !== 0)("files of a snapshot in an archive", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "tree-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function* of(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
    yield* parts;
  }
  const unpack = (bytes: Uint8Array, most = 1000): Promise<void> =>
    unpackTree(of(bytes), join(root, "target"), new EntryBudget(most));

  test("a reader that stops within a file ends the archive, and nothing else", async () => {
    const source = join(root, "source");
    await mkdir(source);
    await writeFile(join(source, "large"), Buffer.alloc(8 * 2 ** 20, "x"));
    const unhandled: unknown[] = [];
    const note = (error: unknown): unknown => unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      for (let stopAfter = 1; stopAfter <= 5; stopAfter += 1) {
        let seen = 0;
        for await (const _ of packTree(source)) {
          seen += 1;
          if (seen === stopAfter) break;
        }
        // Rejections are reported after the microtasks.
        await setImmediate();
      }
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  test("come back with owners, modes, links and hidden files", async () => {
    const source = join(root, "source");
    await mkdir(join(source, "folder"), { recursive: true });
    await writeFile(join(source, "folder", "file"), "content");
    await chown(join(source, "folder", "file"), 1000, 3_000_000);
    await chmod(join(source, "folder", "file"), 0o4751);
    await writeFile(join(source, "program"), "x");
    await chmod(join(source, "program"), 0o4755);
    await link(join(source, "program"), join(source, "same"));
    await symlink("/etc/shadow", join(source, "link"));
    libc().makeNullDevice(join(source, "hidden"));
    libc().setAttribute(join(source, "folder"), "trusted.overlay.opaque", "y");
    await runCommand("mkfifo", [join(source, "pipe")]);
    let omitted = 0;
    const bytes = await buffer(packTree(source, () => (omitted += 1)));
    expect((await buffer(packTree(source))).equals(bytes)).toBe(true);
    await unpack(bytes);
    const target = join(root, "target");
    expect((await readdir(target)).toSorted()).toEqual(["folder", "hidden", "link", "program", "same"]);
    expect(omitted).toBe(1);
    expect(await readFile(join(target, "folder", "file"), "utf8")).toBe("content");
    const file = await lstat(join(target, "folder", "file"));
    // The group is outside the ids of a sandbox, so the file does not run as its owner.
    expect([file.uid, file.gid, file.mode & 0o7777]).toEqual([1000, 3_000_000, 0o751]);
    expect((await lstat(join(target, "program"))).mode & 0o7777).toBe(0o4755);
    expect((await lstat(join(target, "same"))).ino).toBe((await lstat(join(target, "program"))).ino);
    expect(await readlink(join(target, "link"))).toBe("/etc/shadow");
    expect((await lstat(join(target, "hidden"))).isCharacterDevice()).toBe(true);
    expect(libc().hasAttribute(join(target, "folder"), "trusted.overlay.opaque")).toBe(true);
  });

  const entry = (
    header: Partial<Header> & { name: string },
    content = "",
  ): readonly [Partial<Header> & { name: string }, string] => [header, content] as const;
  const archiveOf = async (...entries: (readonly [Partial<Header> & { name: string }, string])[]): Promise<Buffer> => {
    const archive = pack();
    for (const [header, content] of entries) archive.entry(header, content);
    archive.finalize();
    return buffer(archive);
  };

  test.for([
    ["an absolute path", [entry({ name: "/etc/passwd" }, "x")], "outside"],
    ["a path with ..", [entry({ name: "a/../../b" }, "x")], "outside"],
    ["a hard link to outside", [entry({ name: "a", type: "link", linkname: "../../etc/shadow" })], "not in the image"],
    ["a hard link to nothing", [entry({ name: "a", type: "link", linkname: "b" })], "not a file of the layer"],
    [
      "a file below a symbolic link",
      [entry({ name: "a", type: "symlink", linkname: "/tmp" }), entry({ name: "a/b" }, "x")],
      "not a directory",
    ],
    ["a device", [entry({ name: "a", type: "character-device" })], "type"],
    ["a block device", [entry({ name: "a", type: "block-device" })], "type"],
    ["a named pipe", [entry({ name: "a", type: "fifo" })], "type"],
    ["a name twice", [entry({ name: "a" }, "x"), entry({ name: "./a" }, "y")], "appears twice"],
    ["a name that is too long", [entry({ name: "a".repeat(300) }, "x")], "outside"],
    ["too many files", Array.from({ length: 6 }, (_, index) => entry({ name: `f${index}` })), "too many files"],
  ] as const)("%s is refused, and nothing is written outside", async ([, entries, message]) => {
    const error: unknown = await unpack(await archiveOf(...entries), 5).catch((one: unknown) => one);
    expect(error).toMatchObject({ reason: "ArchiveInvalid", message: expect.stringContaining(message) });
    expect(await readdir(root)).toEqual(["target"]);
  });

  test("a truncated archive and headers that are too large are refused", async () => {
    const bytes = await archiveOf(entry({ name: "a" }, "x".repeat(5000)));
    await expect(unpack(bytes.subarray(0, 2000))).rejects.toMatchObject({ reason: "ArchiveInvalid" });
    const large = await archiveOf(entry({ name: "a", pax: { comment: "x".repeat(2 ** 22) } }, "x"));
    const parts = Array.from({ length: Math.ceil(large.length / 65_536) }, (_, i) =>
      large.subarray(65_536 * i, 65_536 * (i + 1)),
    );
    const error: unknown = await unpackTree(of(...parts), join(root, "other"), new EntryBudget(5)).catch(
      (one: unknown) => one,
    );
    expect(error).toMatchObject({ reason: "ArchiveInvalid" });
  });
});
