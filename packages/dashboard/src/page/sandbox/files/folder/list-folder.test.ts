import type { FileEntry } from "@agent-sandbox/sdk";
import { describe, expect, test } from "vitest";
import { listFolder, permissionsOf, sortEntries } from "./list-folder.ts";

const entry = (name: string, over: Partial<FileEntry> = {}): FileEntry => ({
  name,
  size: 1,
  type: "file",
  mode: "0644",
  modifiedAt: new Date(0),
  ...over,
});

function treeOf(entries: readonly FileEntry[]) {
  const ended = { early: false };
  async function* tree(path?: string) {
    try {
      for (const one of entries) yield { ...one, path: `/${path}/${one.name}` };
    } finally {
      ended.early = true;
    }
  }
  return { tree, ended };
}

const signal = new AbortController().signal;

describe("a folder", () => {
  test("is listed with folders first, and numbers in their order", async () => {
    const { tree } = treeOf([
      entry("b10"),
      entry("b9"),
      entry("z", { type: "directory" }),
      entry("a", { type: "symlink" }),
    ]);
    const { entries, isCut } = await listFolder({ tree }, "x", signal);
    expect(entries.map(({ name }) => name)).toEqual(["z", "a", "b9", "b10"]);
    expect(isCut).toBe(false);
  });

  test("is not read beyond the limit", async () => {
    const { tree, ended } = treeOf(Array.from({ length: 9 }, (_, index) => entry(`f${index}`)));
    const { entries, isCut } = await listFolder({ tree }, "", signal, 4);
    expect([entries.length, isCut, ended.early]).toEqual([4, true, true]);
    expect((await listFolder({ tree }, "", signal, 9)).isCut).toBe(false);
  });

  test("is sorted by size and by time", () => {
    const entries = [
      entry("a", { size: 2, modifiedAt: new Date(1) }),
      entry("b", { size: 1, modifiedAt: new Date(5) }),
    ];
    const names = (by: "name" | "size" | "modified", isDescending: boolean) =>
      sortEntries(entries, by, isDescending)
        .map(({ name }) => name)
        .join("");
    expect([names("name", true), names("size", false), names("size", true), names("modified", true)]).toEqual([
      "ba",
      "ba",
      "ab",
      "ba",
    ]);
  });
});

test.for([
  ["0755", "rwxr-xr-x"],
  ["0640", "rw-r-----"],
  ["777", "rwxrwxrwx"],
  ["0000", "---------"],
  ["<b>", "<b>"],
])("the mode %s is shown as %s", ([mode = "", shown]) => {
  expect(permissionsOf(mode)).toBe(shown);
});
