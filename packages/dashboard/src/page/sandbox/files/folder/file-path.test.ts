import { describe, expect, test } from "vitest";
import { crumbsOf, isNameBroken, joinPath, nameOf, nameProblem, parentOf, readFolder, shownName } from "./file-path.ts";

describe("a path", () => {
  test("has a parent and a name", () => {
    expect([joinPath("", "a"), joinPath("a/b", "c")]).toEqual(["a", "a/b/c"]);
    expect([parentOf("a/b/c"), parentOf("a"), nameOf("a/b"), nameOf("a")]).toEqual(["a/b", "", "b", "a"]);
    expect(crumbsOf("a/b")).toEqual([
      { name: "a", path: "a" },
      { name: "b", path: "a/b" },
    ]);
    expect(crumbsOf("")).toEqual([]);
  });

  test.for([
    ["", ""],
    ["/a//b/./c/", "a/b/c"],
    ["a/../b", "b"],
    ["..", ""],
    ["a/../../etc", ""],
    ["%2e%2e/x", "%2e%2e/x"],
    ["a\ud800", "a\ufffd"],
    ["<img src=x>\n", "<img src=x>\n"],
  ])("of the address %j is %j", ([text = "", path]) => {
    expect(readFolder(text)).toBe(path);
  });
});

describe("a name", () => {
  test.for(["", ".", "..", "a/b", "/", "a\0b", "a\udc00", "ä".repeat(128), "x".repeat(256)])("cannot be %j", (name) => {
    expect(nameProblem(name)).toBeTypeOf("string");
  });

  test.for(["a", "...", "-rf", "x".repeat(255), "ä".repeat(127), "a\nb", "<script>", "C:\\x", " "])(
    "can be %j",
    (name) => {
      expect(nameProblem(name)).toBeUndefined();
    },
  );

  test.for([
    ["notes.txt", "notes.txt"],
    ["größe \u{1f600}.txt", "größe \u{1f600}.txt"],
    ["a\nb\tc\rd", "a\\nb\\tc\\rd"],
    ["\u202etxt.exe", "\\u202etxt.exe"],
    ["\u001b]0;title\u0007", "\\u001b]0;title\\u0007"],
    ["a\u{e0041}", "a\\u{e0041}"],
    ["<img src=x>", "<img src=x>"],
  ])("%j is shown as %j", ([name = "", shown]) => {
    expect(shownName(name)).toBe(shown);
  });

  test("with bytes that are not UTF-8 is recognised", () => {
    expect([isNameBroken("a\ufffdb"), isNameBroken("a")]).toEqual([true, false]);
  });
});
