import { availableParallelism } from "node:os";
import { runFailedAgain } from "./second-run.ts";
import type { Failure, Suite, SuiteResult, Tally } from "./suites.ts";

/**
 * Suites that run at the same time. Most of them wait for processes and timers more than they compute: on its own, a suite uses
 * between a third and two thirds of a core.
 */
const concurrency = Math.max(3, availableParallelism());

/**
 * Runs all suites, even after failures: those of `first` before the others. Prints the output of each suite when it ends (all of it if a test failed, otherwise
 * the last lines and why tests were skipped), then a table, the names of the failed tests and the line that CI reads. A few failed files run a second time.
 */
export async function runSuites(suites: readonly Suite[], first: readonly Suite[] = []): Promise<Tally> {
  const startedAt = performance.now();
  const rows = new Map<Suite, string>();
  const results = new Map<Suite, SuiteResult>();
  const worker = async (waiting: Suite[]) => {
    for (let suite = waiting.shift(); suite !== undefined; suite = waiting.shift()) {
      console.log(`… ${suite.name}`);
      const suiteStartedAt = performance.now();
      const result = await suite.run();
      results.set(suite, result);
      rows.set(suite, rowOf(suite, result, suiteStartedAt));
      show(suite, result);
    }
  };
  for (const phase of [[...first], [...suites]]) {
    await Promise.all(Array.from({ length: concurrency }, () => worker(phase)));
  }
  const { flaky, after } = await runFailedAgain(results);
  const total = after.reduce<Tally>(add, { passed: 0, failed: 0, skipped: 0 });
  console.log(
    `\n${[...first, ...suites].map((suite) => rows.get(suite)).join("\n")}\n\n${seconds(startedAt)} in all\n`,
  );
  for (const failure of flaky) console.log(`passed only in a second run: ${textOf(failure)}`);
  for (const failure of after.flatMap(({ failures = [] }) => failures)) console.log(`failed: ${textOf(failure)}`);
  console.log(closingLine(total));
  return total;
}

function show(suite: Suite, result: SuiteResult): void {
  const lines = result.output.trimEnd().split("\n");
  const [earlier, last] = [lines.slice(0, -6), lines.slice(-6)];
  // Why tests did not run is not visible in a count.
  const skipReasons = new Set(earlier.filter((line) => /\bskipped: |^No Kubernetes node runs/.test(line)));
  const shown = result.failed > 0 ? lines : [...skipReasons, ...last];
  console.log(`\n── ${suite.name}: ${closingLine(result)}\n${shown.join("\n")}\n`);
}

function textOf({ name, message }: Failure): string {
  return message === undefined ? name : `${name}\n    ${message.replaceAll("\n", "\n    ")}`;
}

function rowOf(suite: Suite, tally: Tally, startedAt: number): string {
  const mark = tally.failed > 0 ? "✗" : "✓";
  return `${mark} ${suite.name.padEnd(16)} ${closingLine(tally).padEnd(36)} ${seconds(startedAt)}`;
}

function seconds(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

function add(sum: Tally, { passed, failed, skipped }: Tally): Tally {
  return { passed: sum.passed + passed, failed: sum.failed + failed, skipped: sum.skipped + skipped };
}

export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
