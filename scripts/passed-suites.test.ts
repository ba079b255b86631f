import { rmSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { hashOfInputs, skipIfPassed } from "./passed-suites.ts";
import type { Suite, Tally } from "./suites.ts";

const name = `passed suite test ${process.pid}`;

function counting(tally: Tally): Suite & { runs: number } {
  const suite = {
    name,
    runs: 0,
    run: async () => {
      suite.runs += 1;
      return { ...tally, output: "" };
    },
  };
  return suite;
}

afterEach(() => rmSync(`${import.meta.dirname}/../.cache/passed/${name.replaceAll(" ", "-")}.json`, { force: true }));

test("a suite that passed is skipped until something changes", async () => {
  const suite = counting({ passed: 3, failed: 0, skipped: 1 });
  await skipIfPassed(suite, "a").run();
  expect(await skipIfPassed(suite, "a").run()).toMatchObject({ passed: 3, failed: 0, skipped: 1 });
  expect(suite.runs).toBe(1);
  await skipIfPassed(suite, "a", { fresh: true }).run();
  expect(suite.runs).toBe(2);
  await skipIfPassed(suite, "b").run();
  expect(suite.runs).toBe(3);
});

test("a suite that failed runs again", async () => {
  const suite = counting({ passed: 3, failed: 1, skipped: 0 });
  await skipIfPassed(suite, "a").run();
  expect(await skipIfPassed(suite, "a").run()).toMatchObject({ passed: 3, failed: 1 });
  expect(suite.runs).toBe(2);
});

test("the hash of the inputs stays the same while nothing changes", () => {
  expect(hashOfInputs("node")).toBe(hashOfInputs("node"));
});

test("only suites that read the documentation depend on it", () => {
  expect(hashOfInputs("node")).toBe(hashOfInputs("state"));
  expect(hashOfInputs("docs")).toBe(hashOfInputs("sdk"));
  expect(hashOfInputs("docs")).not.toBe(hashOfInputs("node"));
});
