import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { closingLine } from "./run-suites.ts";
import { tallyVitest } from "./suites.ts";

const dir = mkdtempSync(join(tmpdir(), "suites-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe("tallyVitest()", () => {
  const report = join(dir, "report.json");
  test.for([
    ["counts what the report says", { numPassedTests: 3, numFailedTests: 1, numPendingTests: 2 }, false, [3, 1, 2]],
    ["a run that fails without a failing test counts one", { numPassedTests: 3, numFailedTests: 0 }, false, [3, 1, 0]],
    ["a good run", { numPassedTests: 3, numFailedTests: 0 }, true, [3, 0, 0]],
  ] as const)("%s", ([, content, ok, [passed, failed, skipped]]) => {
    writeFileSync(report, JSON.stringify(content));
    expect(tallyVitest(report, ok)).toEqual({ passed, failed, skipped });
  });

  test("a missing report is a failure", () => {
    expect(tallyVitest(join(dir, "missing.json"), true)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});

test("the closing line has the form that CI reads", () => {
  expect(closingLine({ passed: 2, failed: 0, skipped: 0 })).toBe("2 passed, 0 failed");
  expect(closingLine({ passed: 2, failed: 1, skipped: 3 })).toBe("2 passed, 1 failed, 3 skipped");
});
