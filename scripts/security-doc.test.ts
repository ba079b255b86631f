import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";

const root = `${import.meta.dirname}/..`;
const page = readFileSync(`${root}/docs/security.md`, "utf8");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString("utf8")
  .split("\n")
  .filter((file) => /[._]test\.(?:ts|go)$/.test(file));

/** A citation is `file › name of a test or a part of it`. `…` and `%s` match any text, ` / ` separates several names. */
const citations = [...page.matchAll(/`([\w./-]+[._]test\.(?:ts|go))(?: › ([^`]+))?`/g)].map(
  ([, file = "", name = ""]) => ({ file, name }),
);

const unquoted = (text: string): string => text.replaceAll("\\", "").replaceAll(/\s+/g, " ");

function problemWith({ file, name }: { file: string; name: string }): string | undefined {
  const found = files.filter((each) => each === file || basename(each) === file);
  if (found.length === 0) return `${file} does not exist`;
  const parts = unquoted(name).split(/…|%s|%j| \/ /);
  const has = found.some((each) => {
    const text = unquoted(readFileSync(`${root}/${each}`, "utf8"));
    return parts.every((part) => text.includes(part.trim()));
  });
  return has ? undefined : `${file} has no test "${name}"`;
}

describe("docs/security.md", () => {
  test("cites only tests that exist", () => {
    expect(citations.map(problemWith).filter((problem) => problem !== undefined)).toEqual([]);
    expect(citations.length).toBeGreaterThan(100);
  });

  test("cites a test for every promise", () => {
    const promises = page.split("\n**Promises**\n").slice(1).flatMap(leadingListItems);
    expect(promises.length).toBeGreaterThan(20);
    expect(promises.filter((promise) => !/[._]test\.(?:ts|go)/.test(promise))).toEqual([]);
  });

  test("cites a test in every row of the tables of inputs", () => {
    const rows = page
      .slice(page.indexOf("\n## Inputs"))
      .split("\n")
      .filter((line) => /^\| (?!Input|---)/.test(line));
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter((row) => !/[._]test\.(?:ts|go)|`make test-/.test(row))).toEqual([]);
  });

  test("cites every file of the security suite", () => {
    const suite = files
      .filter((file) => /^test\/security\/[^/]+\.int\.test\.ts$/.test(file))
      .map((file) => basename(file));
    expect(suite.filter((file) => !page.includes(file))).toEqual([]);
  });
});

/** The items of the list at the beginning of a text. */
function leadingListItems(text: string): string[] {
  const [list = ""] = text.trimStart().split(/\n\n/);
  return list.split(/^- /m).slice(1);
}
