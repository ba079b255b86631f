import { expect, test } from "vitest";
import { type Rankable, rank } from "./rank.ts";

const commands: readonly Rankable[] = [
  { title: "Overview", keywords: "page", isFirst: true },
  { title: "Sandboxes", keywords: "page", isFirst: true },
  { title: "New sandbox", keywords: "create" },
  { title: "my-sandbox", keywords: "sandbox default" },
  { title: "Suspend my-sandbox", keywords: "sandbox default sleep" },
  { title: "web", keywords: "template team-sandbox" },
];
const found = (text: string, most = 10): string[] => rank(commands, text, most).map(({ title }) => title);

test("without words, the first commands are shown in their order", () => {
  expect(found("")).toEqual(["Overview", "Sandboxes"]);
  expect(found("  ", 1)).toEqual(["Overview"]);
});

test("the beginning of a title is better than the beginning of a word, and that is better than a keyword", () => {
  expect(found("sandbox")).toEqual(["Sandboxes", "my-sandbox", "New sandbox", "Suspend my-sandbox", "web"]);
});

test("all words must match, in any order and case", () => {
  expect(found("MY sus")).toEqual(["Suspend my-sandbox"]);
  expect(found("sus nothing")).toEqual([]);
  expect(found("default my-s")).toEqual(["my-sandbox", "Suspend my-sandbox"]);
});

test("a title that is typed completely is first, and weight decides between equals", () => {
  const equal = [
    { title: "web two", weight: 0 },
    { title: "web one", weight: 1 },
    { title: "web", weight: 0 },
  ];
  expect(rank(equal, "web", 10).map(({ title }) => title)).toEqual(["web", "web one", "web two"]);
});

test("of objects of equal weight the shorter name is first", () => {
  const named = [{ title: "python-6q6df" }, { title: "python" }];
  expect(rank(named, "pyth", 10).map(({ title }) => title)).toEqual(["python", "python-6q6df"]);
});

test("text that looks like a pattern is only text", () => {
  expect(found(".*")).toEqual([]);
  expect(found("(")).toEqual([]);
});

test("a command that destroys is never before another that matches", () => {
  const page = { title: "seen", keywords: "sandbox default" };
  const deletion = { title: "Delete sandbox seen", keywords: "remove default", isDanger: true };
  const mention = { title: "overseen", keywords: "sandbox" };
  expect(rank([deletion, mention, page], "sandbox seen", 9)).toEqual([page, mention, deletion]);
  expect(rank([deletion, page], "delete seen", 9)).toEqual([deletion]);
});
