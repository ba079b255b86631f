import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type Header, pack } from "tar-stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { insideOf, nameOf, parseSide } from "./copy-paths.ts";
import { archiveOf, type CopyCount, unpackTo } from "./tar-copy.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cp-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const counted = (): CopyCount => ({ files: 0, bytes: 0, skipped: [] });

test("a folder arrives as it was, without its links", async () => {
  const from = join(folder, "from");
  mkdirSync(join(from, "sub"), { recursive: true });
  writeFileSync(join(from, "a.txt"), "a".repeat(100_000), { mode: 0o640 });
  writeFileSync(join(from, "sub/empty"), "");
  symlinkSync("/etc/passwd", join(from, "link"));
  const sent = counted();
  const received = counted();
  await unpackTo(archiveOf(from, "copy", sent), "copy", join(folder, "to"), received);
  expect(
    readdirSync(join(folder, "to"), { encoding: "utf8", recursive: true }).toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(["a.txt", "sub", "sub/empty"]);
  expect(readFileSync(join(folder, "to/a.txt"), "utf8")).toHaveLength(100_000);
  expect(sent).toEqual({ files: 2, bytes: 100_000, skipped: ["copy/link"] });
  expect(received).toEqual({ files: 2, bytes: 100_000, skipped: [] });
});

/** An archive as a hostile sandbox may send it. */
function archive(...entries: (Partial<Header> & { name: string })[]): Readable {
  const made = pack();
  for (const entry of entries) made.entry(entry, entry.type === undefined ? "text" : "");
  made.finalize();
  return Readable.from(made);
}

test.each(["../outside", "x/../../outside", "/etc/outside", "other", "x-y", "x/../x-y"])(
  "a file %s is skipped",
  async (name) => {
    const count = counted();
    await unpackTo(archive({ name }), "x", join(folder, "to"), count);
    expect({ there: readdirSync(folder), ...count }).toEqual({ there: [], files: 0, bytes: 0, skipped: [name] });
  },
);

test("links, devices and pipes are skipped, and nothing is written through them", async () => {
  const count = counted();
  const entries = [
    { name: "x/link", type: "symlink", linkname: folder },
    { name: "x/hard", type: "link", linkname: "/etc/passwd" },
    { name: "x/device", type: "character-device" },
    { name: "x/pipe", type: "fifo" },
    { name: "x/link/file" },
  ] as const;
  await unpackTo(archive(...entries), "x", join(folder, "to"), count);
  expect(readdirSync(folder, { encoding: "utf8", recursive: true }).toSorted((a, b) => a.localeCompare(b))).toEqual([
    "to",
    "to/link",
    "to/link/file",
  ]);
  expect(count.skipped).toEqual(["x/link", "x/hard", "x/device", "x/pipe"]);
});

test("a local link at the place of a file is refused", async () => {
  mkdirSync(join(folder, "to"));
  symlinkSync(join(folder, "victim"), join(folder, "to/file"));
  await expect(unpackTo(archive({ name: "x/file" }), "x", join(folder, "to"), counted())).rejects.toThrow(
    "too many symbolic links",
  );
  expect(readdirSync(folder)).toEqual(["to"]);
});

test("an archive that ends early is an error", async () => {
  const cut = Readable.from([Buffer.from("not a tar archive".repeat(64))]);
  await expect(unpackTo(cut, "x", join(folder, "to"), counted())).rejects.toThrow(/tar/i);
});

test("sides of a copy", () => {
  expect(parseSide("work:/tmp/a")).toEqual({ type: "sandbox", sandbox: "work", path: "/tmp/a" });
  expect(parseSide("./a:b")).toEqual({ type: "local", path: "./a:b" });
  expect(parseSide("-")).toEqual({ type: "local", path: "-" });
  expect(() => parseSide("work:")).toThrow("add the path");
  expect(() => nameOf("/tmp/..")).toThrow("name the file");
  expect(nameOf("/tmp/a/")).toBe("a");
  expect(insideOf("a/b/", "a")).toBe("b");
});
