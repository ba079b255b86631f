import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(`${root}/docs/architecture.md`, "utf8");

interface Flow {
  readonly title: string;
  /** The file that each numbered line starts with. */
  readonly files: readonly string[];
}

function flowsIn(text: string): Flow[] {
  const [, section = ""] = /^## Three flows$(.*?)^## /ms.exec(text) ?? [];
  return section
    .split(/^### /m)
    .slice(1)
    .map((part) => ({
      title: part.split("\n", 1)[0] ?? "",
      files: [...part.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = ""]) => file),
    }));
}

describe("docs/architecture.md", () => {
  const flows = flowsIn(page);

  test("has three flows", () => {
    expect(flows.map(({ title }) => title)).toEqual([
      "From `apply` to a running sandbox",
      "From a claim to a ready sandbox",
      "From a request to a woken sandbox",
    ]);
    for (const { files } of flows) expect(files.length).toBeGreaterThan(5);
  });

  test.for(flows)("names only files that exist: $title", ({ files }) => {
    expect(files.filter((file) => !existsSync(`${root}/${file}`))).toEqual([]);
  });

  test.for(flows)("lists no file twice: $title", ({ files }) => {
    expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
  });

  test("links only to files that exist", () => {
    const links = [...page.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target = ""]) => target);
    expect(links.filter((target) => !existsSync(resolve(root, "docs", target)))).toEqual([]);
  });
});
