import { beforeAll, describe, expect, test } from "vitest";
import { matchesOutput } from "../../../scripts/docs/compare-output.ts";
import { type Step, withStatus } from "../../docs/page-script.ts";
import { type Run, runSteps } from "../../docs/run-page.ts";
import { buildCommandLine, whyNoBox } from "../box.ts";
import { topics } from "./table.ts";
import type { Wish } from "./wish.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const all = topics.flatMap(({ wishes }) => wishes);

/** Each wish runs in the shell of the one before it. */
function stepOf({ commands, status = 0 }: Wish, index: number): Step {
  const block = { language: "sh", text: `${commands}\n`, line: index + 1, exitStatus: status };
  return { block, commands: withStatus(block) };
}

test("there are forty wishes", () => {
  expect(all.length).toBeGreaterThanOrEqual(40);
  expect(new Set(all.map(({ wish }) => wish)).size).toBe(all.length);
});

describe.skipIf(reason !== undefined)("what new users want", { timeout: 60_000 }, () => {
  let run: Run;
  beforeAll(async () => {
    buildCommandLine();
    // Longer than a page of the documentation, for machines that run other suites.
    process.env["PAGE_SECONDS"] ??= "560";
    run = await runSteps(all.map(stepOf));
  }, 600_000);

  describe.each(topics)("$title", ({ wishes }) => {
    test.each(wishes)("$wish", (wish) => {
      const at = all.indexOf(wish);
      const printed = run.outputs[at] ?? "";
      // The first that fails ends the shell.
      expect(run.ended, `${printed}${run.messages}`).toBeGreaterThan(at);
      expect(matchesOutput(wish.output, printed), `it prints:\n${printed}`).toBe(true);
    });
  });
});
