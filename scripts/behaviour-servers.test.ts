import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const read = (file: string): string => readFileSync(`${root}/${file}`, "utf8");
const numbers = [...read("docs/behaviour.md").matchAll(/^- \*\*([A-Z]+-\d+)\*\* \S/gm)].map(
  ([, number = ""]) => number,
);
const page = read("test/cluster/README.md");

/** The numbers in the last column of a section's table: `POD` 1, 2; `META` 3. */
function listed(heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const cells = [...section.matchAll(/^\| .* \| ([^|]*) \|$/gm)].map(([, cell = ""]) => cell);
  const words = cells.flatMap((cell) => [...cell.matchAll(/`([A-Z]+)` (\d+(?:, \d+)*)/g)]);
  return words.flatMap(([, word, counters = ""]) => counters.split(", ").map((counter) => `${word}-${counter}`));
}

/** Numbers in parentheses at the end of the titles of tests. */
function citedIn(pattern: string): Set<string> {
  const texts = globSync(pattern, { cwd: root }).map(read);
  const citations = texts.flatMap((text) => [...text.matchAll(/\(([A-Z]+-\d+(?:, [A-Z]+-\d+)*)\)["'`]/g)]);
  return new Set(citations.flatMap(([, cited = ""]) => cited.split(", ")));
}

describe("test/cluster/README.md", () => {
  const everywhere = listed("On all three servers");
  const own = listed("With tests of their own");
  const shared = citedIn("test/controllers/*-suite.ts");

  test("has each number of docs/behaviour.md in one row", () => {
    const rest = listed("Not on the real cluster");
    expect([...everywhere, ...own, ...rest].sort()).toEqual(numbers.toSorted());
  });

  test("has in the first table what the shared files cite", () => {
    expect(everywhere.toSorted()).toEqual([...shared].sort());
  });

  test("has in the second table what only the files for the cluster cite", () => {
    const cited = [...citedIn("test/cluster/*.int.test.ts")].filter((number) => !shared.has(number));
    expect(own.toSorted()).toEqual(cited.sort());
  });
});
