import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The last row of each section, from 9.1 on. */
const lastRows = [21, 48, 63, 79, 88, 93, 98, 117, 127, 139, 168, 183, 195, 206, 211];
const root = join(import.meta.dirname, "../../..");

/** As tests name them: `9.2 #30`, `9.12 #169 #170`, `9.1 row 6`. */
function namedRows(): Map<number, Set<number>> {
  const named = new Map(lastRows.map((_, index) => [index + 1, new Set<number>()]));
  const files = globSync(["packages/{api,controllers}/src/**/*.test.ts", "test/controllers/*.ts"], { cwd: root });
  for (const file of files) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, section, rows = ""] of text.matchAll(/["'`]9\.(\d+)((?: #\d+)+| row \d+)\b/g)) {
      for (const [row] of rows.matchAll(/\d+/g)) named.get(Number(section))?.add(Number(row));
    }
  }
  return named;
}

/** As tests name them: `weakness 31`, `10.4.29`. */
function namedWeaknesses(): number[] {
  const files = globSync(["packages/controllers/src/**/*.test.ts", "test/controllers/*.ts"], { cwd: root });
  const texts = files.map((file) => readFileSync(join(root, file), "utf8"));
  const named = texts.flatMap((text) => [...text.matchAll(/["'`(](?:weakness |10\.[234]\.)(\d+)\b/g)]);
  return [...new Set(named.map(([, number]) => Number(number)))].sort((a, b) => a - b);
}

test("every weakness that is done better has a test that names it", () => {
  expect(namedWeaknesses()).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
});

test("every row of the catalogue of edge cases has a test that names it, in its section", () => {
  const rows = namedRows();
  const expected = lastRows.map((last, index) => {
    const first = (lastRows[index - 1] ?? 0) + 1;
    return [`9.${index + 1}`, Array.from({ length: last - first + 1 }, (_, offset) => first + offset)];
  });
  const found = [...rows].map(([section, seen]) => [`9.${section}`, [...seen].sort((a, b) => a - b)]);
  expect(found).toEqual(expected);
});
