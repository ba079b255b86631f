import { describe, expect, test } from "vitest";
import { readInnerResults } from "./inner-results.ts";

const lines = (...events: object[]): string => events.map((event) => JSON.stringify(event)).join("\n");

describe("the results of another suite", () => {
  test("contain the result and output of each test", () => {
    const text = lines(
      { Action: "run", Test: "A" },
      { Action: "output", Test: "A", Output: "=== RUN   A\n" },
      { Action: "output", Test: "A", Output: "one\n" },
      { Action: "output", Test: "B", Output: "why\n" },
      { Action: "output", Test: "A", Output: "two\n" },
      { Action: "output", Test: "A", Output: "--- FAIL: A (0.00s)\n" },
      { Action: "fail", Test: "A" },
      { Action: "skip", Test: "B" },
      { Action: "pass", Test: "C" },
      { Action: "fail", Package: "p" },
    );
    expect(readInnerResults(`noise\n${text}\n`)).toEqual({
      passed: ["C"],
      failed: [{ name: "A", text: "one\ntwo\n" }],
      skipped: [{ name: "B", text: "why\n" }],
    });
  });

  test("count subtests but not their parent", () => {
    const text = lines(
      { Action: "pass", Test: "A/one" },
      { Action: "fail", Test: "A/two" },
      { Action: "fail", Test: "A" },
      { Action: "pass", Test: "B/one" },
      { Action: "pass", Test: "B" },
      { Action: "pass", Test: "C/one" },
      { Action: "fail", Test: "C" },
    );
    const { passed, failed } = readInnerResults(text);
    expect({ passed, failed: failed.map(({ name }) => name) }).toEqual({
      passed: ["A/one", "B/one", "C/one"],
      failed: ["A/two", "C"],
    });
  });

  test("name a package that failed without a failing test", () => {
    const text = lines(
      { Action: "build-output", ImportPath: "p", Output: "a.go:1: syntax error\n" },
      { Action: "fail", Package: "p" },
    );
    expect(readInnerResults(text).failed).toEqual([{ name: "p", text: "a.go:1: syntax error\n" }]);
  });

  test("use the last result of a test", () => {
    const text = lines({ Action: "pass", Test: "A" }, { Action: "fail", Test: "A", Output: "cannot clean up" });
    expect(readInnerResults(text)).toEqual({
      passed: [],
      failed: [{ name: "A", text: "cannot clean up" }],
      skipped: [],
    });
  });
});
