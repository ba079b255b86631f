import { rmSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { remembered, stateOfTheWorld } from "./remembered-suites.ts";
import type { Suite, Tally } from "./suites.ts";

const name = `remembered test ${process.pid}`;

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

test("what passed is not run again until something changes", async () => {
  const suite = counting({ passed: 3, failed: 0, skipped: 1 });
  await remembered(suite, "a").run();
  expect(await remembered(suite, "a").run()).toMatchObject({ passed: 3, failed: 0, skipped: 1 });
  expect(suite.runs).toBe(1);
  await remembered(suite, "a", { fresh: true }).run();
  expect(suite.runs).toBe(2);
  await remembered(suite, "b").run();
  expect(suite.runs).toBe(3);
});

test("what failed is run again", async () => {
  const suite = counting({ passed: 3, failed: 1, skipped: 0 });
  await remembered(suite, "a").run();
  expect(await remembered(suite, "a").run()).toMatchObject({ passed: 3, failed: 1 });
  expect(suite.runs).toBe(2);
});

test("the state of the world stays while nothing changes", () => {
  expect(stateOfTheWorld()).toBe(stateOfTheWorld());
});
