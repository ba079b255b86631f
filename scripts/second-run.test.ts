import { expect, test } from "vitest";
import { runFailedAgain } from "./second-run.ts";
import type { Suite, SuiteResult } from "./suites.ts";

const failure = (name: string) => ({ name: `${name}.int.test.ts > works`, file: `${name}.int.test.ts` });
const result = (passed: number, ...failed: string[]): SuiteResult => ({
  passed,
  failed: failed.length,
  skipped: 0,
  output: "",
  failures: failed.map(failure),
});
/** Adds the files of each second run to `calls`. Without a second result the suite cannot run again. */
const suite = (second?: SuiteResult, calls: (readonly string[])[] = []): Suite => ({
  name: "node",
  run: () => Promise.reject(new Error("not used")),
  ...(second !== undefined && {
    runAgain: (files) => {
      calls.push(files);
      return Promise.resolve(second);
    },
  }),
});

test("a test that passes in the second run is reported as flaky and counts as passed", async () => {
  const calls: (readonly string[])[] = [];
  const { flaky, after } = await runFailedAgain(new Map([[suite(result(1), calls), result(9, "a")]]));
  expect(calls).toEqual([["a.int.test.ts"]]);
  expect(flaky).toEqual([failure("a")]);
  expect(after).toMatchObject([{ passed: 10, failed: 0, failures: [] }]);
});

test("a test that fails again counts as failed", async () => {
  const { flaky, after } = await runFailedAgain(new Map([[suite(result(1, "a")), result(8, "a", "b")]]));
  expect(flaky).toEqual([failure("b")]);
  expect(after).toMatchObject([{ passed: 9, failed: 1, failures: [failure("a")] }]);
});

test("a second run that ends without a report counts as failed", async () => {
  const crash = { ...result(0), failed: 1 };
  const { flaky, after } = await runFailedAgain(new Map([[suite(crash), result(9, "a")]]));
  expect(flaky).toEqual([]);
  expect(after).toMatchObject([{ passed: 9, failed: 1 }]);
});

test("a suite that cannot run again keeps its result", async () => {
  const first = result(9, "a");
  expect(await runFailedAgain(new Map([[suite(), first]]))).toEqual({ flaky: [], after: [first] });
});

test("failures in many files do not run again", async () => {
  const calls: (readonly string[])[] = [];
  const first = result(9, "a", "b", "c", "d", "e", "f", "g", "h", "i");
  const { after } = await runFailedAgain(new Map([[suite(result(1), calls), first]]));
  expect(calls).toEqual([]);
  expect(after).toMatchObject([{ passed: 9, failed: 9 }]);
});

test("many failures in one file run again", async () => {
  const failures = Array.from({ length: 40 }, (_, index) => ({ name: `a > ${index}`, file: "a.int.test.ts" }));
  const { flaky, after } = await runFailedAgain(new Map([[suite(result(40)), { ...result(9), failed: 40, failures }]]));
  expect(flaky).toHaveLength(40);
  expect(after).toMatchObject([{ passed: 49, failed: 0 }]);
});
