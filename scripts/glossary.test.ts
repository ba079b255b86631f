import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const page = readFileSync(`${root}/docs/glossary.md`, "utf8");
const sources = execFileSync("git", ["ls-files", "packages/*/src/*.ts"], { cwd: root })
  .toString("utf8")
  .split("\n")
  .filter((file) => file !== "" && !file.includes(".test."))
  .map((file) => readFileSync(`${root}/${file}`, "utf8"))
  .join("\n")
  .toLowerCase();

/** The bold terms in the first column of the tables and in the meanings. */
const terms = [...page.matchAll(/\*\*([^*]+)\*\*/g)].map(([, term = ""]) => term.toLowerCase());

/** Whether the sources contain the term: as words of a sentence, as a symbol or as the name of a file. */
function isUsed(term: string): boolean {
  return [" ", "", "-"].some((separator) => sources.includes(term.replaceAll(" ", separator)));
}

test("every term of the glossary occurs in the sources", () => {
  expect(terms.length).toBeGreaterThan(30);
  expect(terms.filter((term) => !isUsed(term))).toEqual([]);
});

test("no term is in the glossary twice", () => {
  expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
});
