import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const folder = `${root}/test/state`;
const page = readFileSync(`${folder}/README.md`, "utf8");

/** `| 3 | what goes wrong | tests |` */
const rows = new Map(
  [...page.matchAll(/^\| (\d+) \| .+? \| (.+) \|$/gm)].map(([, number = "", tests = ""]) => [Number(number), tests]),
);

interface Citation {
  readonly file: string;
  readonly title: string;
}

/** `file › title`, in backquotes. Placeholders such as `%i` and `${count}` stay as in the source. */
function citationsIn(tests: string): Citation[] {
  return [...tests.matchAll(/`([^`]+?\.test\.ts) › ([^`]+)`/g)].map(([, file = "", title = ""]) => ({ file, title }));
}

function problemWith({ file, title }: Citation): string | undefined {
  const path = [
    file.replace(/^node\//, `${root}/packages/node/test/state/`),
    `${folder}/${file}`,
    `${root}/${file}`,
  ].find((each) => existsSync(each));
  if (path === undefined) return `${file} does not exist`;
  const source = readFileSync(path, "utf8");
  const isTitle = ['"', "'", "`"].some(
    (quote) => source.includes(`(${quote}${title}${quote}`) || isOnOwnLine(source, `${quote}${title}${quote},`),
  );
  return isTitle ? undefined : `${file} has no test "${title}"`;
}

/** The first argument of a call whose arguments do not fit into one line. */
function isOnOwnLine(source: string, argument: string): boolean {
  return source.split("\n").some((line) => line.trim() === argument);
}

describe("test/state/README.md", () => {
  test("has a row for each of the 20 cases, in order", () => {
    expect([...rows.keys()]).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  test("names tests that exist, at least one for each case", () => {
    const found = [...rows].map(([number, tests]) => ({ number, citations: citationsIn(tests) }));
    expect(found.filter(({ citations }) => citations.length === 0).map(({ number }) => number)).toEqual([]);
    const problems = found.flatMap(({ citations }) => citations).map(problemWith);
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });

  test("names a file in no other way, so that none goes unchecked", () => {
    const table = [...rows.values()].join("\n").replaceAll(/`[^`]+?\.test\.ts › [^`]+`/g, "");
    expect(table.match(/\S*\.test\.ts\S*/g)).toBeNull();
  });
});
