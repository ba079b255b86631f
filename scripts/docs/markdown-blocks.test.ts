import { describe, expect, test } from "vitest";
import { blocksOf, indentedBlocksOf } from "./markdown-blocks.ts";

describe("the fenced blocks of a page", () => {
  test("have a language, their text and their line", () => {
    const page = "# Title\n\n```sh\na\n\nb\n```\n\n```text\nc\n```\n";
    expect(blocksOf(page)).toEqual([
      { language: "sh", text: "a\n\nb\n", line: 3 },
      { language: "text", text: "c\n", line: 9 },
    ]);
  });

  test("lose the indentation of the list they are in", () => {
    expect(blocksOf("1. Do it:\n\n   ```sh\n   a\n     b\n   ```\n")).toEqual([
      { language: "sh", text: "a\n  b\n", line: 3 },
    ]);
  });

  test("may contain shorter fences", () => {
    expect(blocksOf("````markdown\n```sh\na\n```\n````\n")).toMatchObject([{ text: "```sh\na\n```\n" }]);
  });

  test("have the comment on the line before, and the file that the text before names", () => {
    const page = [
      "<!-- not run: needs a cluster -->\n```sh\na\n```",
      "<!-- exit status: 137 -->\n```sh\nb\n```",
      "Save this as `web.yaml`:\n\n```yaml\nc\n```",
      "The file `web.yaml` is read.\n\n```yaml\nd\n```",
    ].join("\n\n");
    expect(blocksOf(page)).toMatchObject([
      { notRun: "needs a cluster" },
      { exitStatus: 137 },
      { file: "web.yaml" },
      { text: "d\n" },
    ]);
    expect(blocksOf(page)[3]).not.toHaveProperty("file");
  });
});

describe("blocks by indentation", () => {
  test.for([
    ["after a paragraph", "Run this:\n\n    make up\n    make down\n", [3]],
    ["below a list item", "1. Run this:\n\n       make up\n", [3]],
    ["after a list", "- one\n\nText.\n\n    make up\n", [5]],
    ["the text of a list item", "1. One.\n\n   More.\n\n- two\n    three\n", []],
    ["a nested list", "- one\n    - two\n", []],
    ["lines of a fenced block", "```yaml\na:\n\n    b: 1\n```\n", []],
    ["lines of a paragraph", "One\n    two\n", []],
  ] as const)("%s", ([, page, expected]) => {
    expect(indentedBlocksOf(page)).toEqual(expected);
  });
});
