import { describe, expect, test } from "vitest";
import { blocksOf } from "../../scripts/docs/markdown-blocks.ts";
import { documentedPages, usesImages } from "../../scripts/docs/pages.ts";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { stepsOf } from "./page-script.ts";
import { runPage } from "./run-page.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

// `make test-examples` and `make test-e2e` run the others.
const pages = documentedPages()
  .filter((page) => !usesImages(page) && page.path !== "docs/wishes.md")
  .map(({ path, text }) => ({
    path,
    blocks: blocksOf(text),
    steps: stepsOf(blocksOf(text)),
  }));
const runnable = pages.filter(({ steps }) => steps.length > 0);

const excused = pages.flatMap(({ path, blocks }) =>
  blocks.flatMap(({ line, notRun }) => (notRun === undefined ? [] : [`  ${path}:${line} ${notRun}`])),
);
const steps = runnable.flatMap((page) => page.steps);
const commands = steps.filter(({ block }) => block.language === "sh");
const outputs = steps.filter(({ expected }) => expected !== undefined);
console.info(
  `${runnable.length} pages: ${commands.length} blocks of commands, ${steps.length - commands.length} manifests, ${outputs.length} outputs. Not run: ${excused.length}\n${excused.join("\n")}`,
);

describe.skipIf(reason !== undefined)("the commands of the documentation work as written", { timeout: 300_000 }, () => {
  if (reason === undefined) buildCommandLine();

  test.concurrent.each(runnable)("$path", async ({ steps }) => {
    await expect(runPage(steps)).resolves.toBeUndefined();
  });
});
