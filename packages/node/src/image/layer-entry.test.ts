import type { Header } from "tar-stream";
import { expect, test } from "vitest";
import { readEntry } from "./layer-entry.ts";

const header = (name: string, type: Header["type"], linkname?: string): Header =>
  ({ name, type, linkname: linkname ?? null }) as Header;

test.for([
  ["the root", header("./", "directory"), { kind: "folder", path: "" }],
  ["a folder", header("./usr/bin/", "directory"), { kind: "folder", path: "usr/bin" }],
  ["a file", header("usr//bin/./sh", "file"), { kind: "file", path: "usr/bin/sh" }],
  [
    "a link to anywhere",
    header("a", "symlink", "/etc/../../x"),
    { kind: "symlink", path: "a", target: "/etc/../../x" },
  ],
  ["a hard link", header("a", "link", "./b/c"), { kind: "hardlink", path: "a", target: "b/c" }],
  ["a whiteout", header("etc/.wh.passwd", "file"), { kind: "whiteout", path: "etc/passwd" }],
  ["a whiteout at the top", header(".wh.etc", "file"), { kind: "whiteout", path: "etc" }],
  ["an opaque folder", header("etc/.wh..wh..opq", "file"), { kind: "opaque", path: "etc" }],
  ["a name with dots", header("a/..b/...", "file"), { kind: "file", path: "a/..b/..." }],
] as const)("%s", ([, entry, expected]) => {
  expect(readEntry(entry)).toEqual({ entry: expected });
});

test.for([
  ["an absolute path", header("/etc/passwd", "file")],
  ["a path that climbs", header("a/../../b", "file")],
  ["a climbing folder", header("..", "directory")],
  ["a path with NUL", header("a\0b", "file")],
  ["a path of 5000 characters", header("a/".repeat(2500), "directory")],
  ["a name of 256 bytes", header("ü".repeat(128), "file")],
  ["a hard link to outside", header("a", "link", "../../etc/shadow")],
  ["a hard link to an absolute path", header("a", "link", "/etc/shadow")],
  ["a hard link to the root", header("a", "link", "./")],
  ["a link to nothing", header("a", "symlink", "")],
  ["a block device", header("dev/sda", "block-device")],
  ["a character device", header("dev/mem", "character-device")],
  ["a pipe", header("run/pipe", "fifo")],
  ["a whiteout of nothing", header("a/.wh.", "file")],
  ["a whiteout of the folder above", header("a/.wh...", "file")],
  ["a whiteout of a whiteout", header("a/.wh..wh.b", "file")],
  ["a root that is a file", header("./", "file")],
] as const)("refuses %s", ([, entry]) => {
  expect(readEntry(entry)).toEqual({ error: expect.stringMatching(/^invalid entry "/) });
});
