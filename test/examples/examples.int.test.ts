import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { blocksOf } from "../../scripts/docs/markdown-blocks.ts";
import { documentedPages, root, usesImages } from "../../scripts/docs/pages.ts";
import { stepsOf } from "../docs/page-script.ts";
import { checkRun } from "../docs/run-page.ts";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { imageArchives, whyNoImages } from "./image-archives.ts";
import { type NamedSteps, runTogether, type SharedRun } from "./run-together.ts";

const reason = whyNoBox() ?? whyNoImages();
if (reason !== undefined) console.warn(`skipped: the box or the build of images ${reason}`);

const pages: NamedSteps[] = documentedPages()
  .filter(usesImages)
  .map(({ path, text }) => ({ name: path, steps: stepsOf(blocksOf(text)) }))
  .filter(({ steps }) => steps.length > 0);

test("every example has a page with commands", () => {
  const folders = readdirSync(join(root, "examples"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const names = pages.map(({ name }) => name);
  expect(folders.map(({ name }) => `examples/${name}/README.md`).filter((path) => !names.includes(path))).toEqual([]);
});

describe.skipIf(reason !== undefined)("the commands of the examples work as written", () => {
  let shared: SharedRun;

  beforeAll(async () => {
    buildCommandLine();
    shared = await runTogether(pages, imageArchives());
    console.info(`${shared.loadSeconds} s  image load`);
    console.info([...shared.seconds].map(([name, seconds]) => `${seconds} s  ${name}`).join("\n"));
  }, 900_000);

  test.each(pages)("$name", ({ name, steps }) => {
    const run = shared.runs.get(name);
    expect(run).toBeDefined();
    if (run !== undefined) checkRun(steps, run);
  });

  test("the examples leave nothing behind", () => {
    expect(shared.left).toBe("");
  });
});
