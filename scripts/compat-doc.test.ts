import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const folder = `${root}/test/compat`;
const page = readFileSync(`${folder}/README.md`, "utf8");

/** `| 40 | tests, or why there is none |` */
const rows = new Map(
  [...page.matchAll(/^\| (\d+) \| (.+) \|$/gm)].map(([, number = "", text = ""]) => [Number(number), text]),
);

/** `file › title` or `file`, for files of the suite and of the whole repository. `%s` and `%j` stay as in the source. */
function problemWith([, file = "", title = ""]: readonly (string | undefined)[]): string | undefined {
  const path = [`${folder}/${file}`, `${root}/${file}`].find((each) => existsSync(each));
  if (path === undefined) return `${file} does not exist`;
  return readFileSync(path, "utf8").replaceAll("\\", "").includes(title) ? undefined : `${file} has no test "${title}"`;
}

/** Numbers at the end of titles: `"… (COMPAT-40, COMPAT-71)"`. */
function citedIn(file: string): number[] {
  const text = readFileSync(`${folder}/${file}`, "utf8");
  const citations = text.matchAll(/\((COMPAT-\d+(?:, COMPAT-\d+)*)\)["'`]/g);
  return [...citations].flatMap(([, cited = ""]) =>
    cited.split(", ").map((one) => Number(one.slice("COMPAT-".length))),
  );
}

describe("test/compat/README.md", () => {
  test("has a row for each of the 100 cases", () => {
    expect([...rows.keys()]).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  test("names tests that exist, or says why there is none", () => {
    const citations = [...rows.values()].flatMap((text) => [...text.matchAll(/`([^`]+?)(?: › ([^`]+))?`/g)]);
    expect(citations.map(problemWith).filter((problem) => problem !== undefined)).toEqual([]);
    const without = [...rows.values()].filter((text) => !text.includes("`"));
    expect(without.filter((text) => !text.startsWith("not applicable because "))).toEqual([]);
  });

  test("names every file that cites a case", () => {
    const files = globSync(["*.test.ts", "python/*/*.py"], { cwd: folder });
    const missing = files.flatMap((file) =>
      citedIn(file)
        .filter((number) => rows.get(number)?.includes(`${file} › `) !== true)
        .map((number) => `${file} cites case ${number}`),
    );
    expect(missing).toEqual([]);
  });
});
