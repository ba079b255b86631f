import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const page = readFileSync(`${root}/docs/behaviour.md`, "utf8");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString("utf8")
  .split("\n")
  .filter((file) => /(?:\.test|-suite)\.ts$/.test(file) && !file.endsWith("behaviour-doc.test.ts"));

/** The words that numbers begin with, from the table of sections. */
const sections = [...page.matchAll(/^\| \[.*\| `([A-Z]+)` \|$/gm)].map(([, word = ""]) => word);
/** `- **POD-1** A Sandbox gets …` */
const numbers = [...page.matchAll(/^- \*\*([A-Z]+-\d+)\*\* \S/gm)].map(([, number = ""]) => number);

/** Numbers in parentheses at the end of a title: `"… (POD-1, META-6)"`. */
function citedIn(file: string): string[] {
  const number = `(?:${sections.join("|")})-\\d+`;
  const citation = new RegExp(`\\((${number}(?:, ${number})*)\\)["'\`]`, "g");
  const text = readFileSync(`${root}/${file}`, "utf8");
  return [...text.matchAll(citation)].flatMap(([, cited = ""]) => cited.split(", "));
}

describe("docs/behaviour.md", () => {
  const cited = new Set(files.flatMap(citedIn));

  test("uses each number once, in a section of the table", () => {
    expect(numbers.length).toBeGreaterThan(300);
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
    expect(numbers.filter((number) => !sections.includes(number.replace(/-\d+$/, "")))).toEqual([]);
    expect([...page.matchAll(/^- /gm)].length).toBe(numbers.length);
  });

  test("has a test for every number", () => {
    expect(numbers.filter((number) => !cited.has(number))).toEqual([]);
  });

  test("has every number that a test cites", () => {
    expect([...cited].filter((number) => !numbers.includes(number))).toEqual([]);
  });
});
