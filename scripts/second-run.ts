import type { Failure, Suite, SuiteResult } from "./suites.ts";

/** More failures than this are a defect, not a race on a busy machine. */
const mostFailures = 5;

export interface SecondRun {
  /** The tests that failed at first and passed in the second run. */
  readonly flaky: readonly Failure[];
  /** The results of all suites, with those of the second run in place of the failures. */
  readonly after: readonly SuiteResult[];
}

/** Runs the files of failed tests a second time, with nothing beside them. */
export async function runFailedAgain(results: ReadonlyMap<Suite, SuiteResult>): Promise<SecondRun> {
  const all = [...results.values()];
  const failed = all.reduce((sum, result) => sum + result.failed, 0);
  if (failed === 0 || failed > mostFailures) return { flaky: [], after: all };
  const flaky: Failure[] = [];
  const after: SuiteResult[] = [];
  for (const [suite, first] of results) {
    const files = [...new Set((first.failures ?? []).map(({ file }) => file))];
    if (suite.runAgain === undefined || files.length === 0) {
      after.push(first);
      continue;
    }
    console.log(`… ${suite.name} again: ${files.join(", ")}`);
    const second = await suite.runAgain(files);
    console.log(second.output.trimEnd().split("\n").slice(-20).join("\n"));
    const names = new Set((second.failures ?? []).map(({ name }) => name));
    if (second.failed === 0 || names.size > 0)
      flaky.push(...(first.failures ?? []).filter(({ name }) => !names.has(name)));
    after.push({ ...first, ...countsOf(first, second), failures: second.failures ?? [] });
  }
  return { flaky, after };
}

function countsOf(first: SuiteResult, second: SuiteResult): Pick<SuiteResult, "passed" | "failed"> {
  return { passed: first.passed + Math.max(0, first.failed - second.failed), failed: second.failed };
}
