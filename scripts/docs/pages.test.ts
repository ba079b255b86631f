import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { blocksOf, indentedBlocksOf } from "./markdown-blocks.ts";
import { documentedPages, root } from "./pages.ts";

const pages = documentedPages();

test("every fenced block has a language", () => {
  const without = pages.flatMap(({ path, text }) =>
    blocksOf(text)
      // Generated pages have signatures.
      .filter(({ language }) => language === "" && !path.startsWith("docs/reference/"))
      .map(({ line }) => `${path}:${line}`),
  );
  expect(pages.length).toBeGreaterThan(20);
  expect(without).toEqual([]);
});

test("no block is marked by indentation alone", () => {
  expect(pages.flatMap(({ path, text }) => indentedBlocksOf(text).map((line) => `${path}:${line}`))).toEqual([]);
});

test("shell commands are in blocks with the language sh", () => {
  const others = pages.flatMap(({ path, text }) =>
    blocksOf(text)
      .filter(({ language }) => /^(?:bash|shell|console|zsh|shell-session)$/.test(language))
      .map(({ line }) => `${path}:${line}`),
  );
  expect(others).toEqual([]);
});

test("links lead to files that exist", () => {
  const broken = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
      .filter(([, target = ""]) => !existsSync(join(root, dirname(path), target)))
      .map(([, target]) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("links to a part of a page name one of its headings", () => {
  const slugs = new Map(pages.map(({ path, text }) => [path, headingSlugs(text)]));
  const broken = pages.flatMap(({ path, text }) =>
    [...withoutBlocks(text).matchAll(/\]\(([^)#:\s]*)#([^)\s]+)\)/g)]
      .filter(([, target = "", slug = ""]) => {
        const known = slugs.get(target === "" ? path : join(dirname(path), target));
        return known !== undefined && !known.has(slug);
      })
      .map(([, target, slug]) => `${path}: ${target}#${slug}`),
  );
  expect(broken).toEqual([]);
});

test("docs/README.md lists every page", () => {
  const index = pages.find(({ path }) => path === "docs/README.md")?.text ?? "";
  const missing = pages
    .map(({ path }) => path)
    .filter((path) => /^docs\/(?!README|adr\/)/.test(path))
    .filter((path) => !index.includes(`](${path.slice("docs/".length)})`));
  expect(missing).toEqual([]);
});

const withoutBlocks = (text: string): string => text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "");

/** The fragments that GitHub gives to headings. */
function headingSlugs(text: string): ReadonlySet<string> {
  const headings = [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
  return new Set(headings);
}
