import type { Failure, Suite, SuiteResult } from "./suites.ts";

/** Failures in more files than this are a defect, not a race on a busy machine. The tests of a file often depend on those before them. */
const mostFiles = 8;

export interface SecondRun {
  /** The tests that failed at first and passed in the second run. */
  readonly flaky: readonly Failure[];
  /** The results of all suites, with those of the second run in place of the failures. */
  readonly after: readonly SuiteResult[];
}

/** Runs the files of failed tests a second time, with nothing beside them. */
export async function runFailedAgain(results: ReadonlyMap<Suite, SuiteResult>): Promise<SecondRun> {
  const all = [...results.values()];
  const failed = all.reduce((sum, { failures = [] }) => sum + filesOf(failures).length, 0);
  if (failed > mostFiles) return { flaky: [], after: all };
  const flaky: Failure[] = [];
  const after: SuiteResult[] = [];
  for (const [suite, first] of results) {
    const files = filesOf(first.failures ?? []);
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

const filesOf = (failures: readonly Failure[]): string[] => [...new Set(failures.map(({ file }) => file))];

function countsOf(first: SuiteResult, second: SuiteResult): Pick<SuiteResult, "passed" | "failed"> {
  return { passed: first.passed + Math.max(0, first.failed - second.failed), failed: second.failed };
}
