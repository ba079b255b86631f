import type { Suite, Tally } from "./suites.ts";

/** Runs the suites one after the other, whatever fails, and closes with the line that CI reads. */
export function runSuites(suites: readonly Suite[]): Tally {
  const rows: string[] = [];
  let total: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of suites) {
    console.log(`\n── ${suite.name}`);
    const startedAt = performance.now();
    const tally = suite.run();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    rows.push(`${tally.failed > 0 ? "✗" : "✓"} ${suite.name.padEnd(16)} ${closingLine(tally).padEnd(36)} ${seconds} s`);
    total = {
      passed: total.passed + tally.passed,
      failed: total.failed + tally.failed,
      skipped: total.skipped + tally.skipped,
    };
  }
  console.log(`\n${rows.join("\n")}\n`);
  console.log(closingLine(total));
  return total;
}

export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
