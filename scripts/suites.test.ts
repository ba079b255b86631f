import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import config from "../vitest.config.ts";
import { tallyGo, tallyVitest, tests } from "./suites.ts";

const root = resolve(import.meta.dirname, "..");
const dir = mkdtempSync(join(tmpdir(), "suites-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe("tallyVitest()", () => {
  const report = join(dir, "report.json");
  test.for([
    ["counts the tests in the report", { numPassedTests: 3, numFailedTests: 1, numPendingTests: 2 }, false, [3, 1, 2]],
    [
      "counts a run that fails without a failing test as one failure",
      { numPassedTests: 3, numFailedTests: 0 },
      false,
      [3, 1, 0],
    ],
    ["counts a run without failures", { numPassedTests: 3, numFailedTests: 0 }, true, [3, 0, 0]],
  ] as const)("%s", ([, content, ok, [passed, failed, skipped]]) => {
    writeFileSync(report, JSON.stringify(content));
    expect(tallyVitest(report, ok)).toEqual({ passed, failed, skipped, failures: [] });
  });

  test("names failed tests and files that did not load", () => {
    const file = (name: string, assertionResults: object[]) => ({
      name: `${root}/${name}`,
      status: "failed",
      assertionResults,
    });
    const results = [
      { status: "passed", fullName: "a works" },
      { status: "failed", fullName: "a fails", failureMessages: ["Error: no\n    at x.ts:1\n- a\n+ b"] },
    ];
    writeFileSync(
      report,
      JSON.stringify({ numFailedTests: 1, testResults: [file("a.test.ts", results), file("b.test.ts", [])] }),
    );
    expect(tallyVitest(report, false).failures).toEqual([
      { name: "a.test.ts > a fails", file: "a.test.ts", message: "Error: no\n- a\n+ b" },
      { name: "b.test.ts", file: "b.test.ts" },
    ]);
  });

  test("a missing report is a failure", () => {
    expect(tallyVitest(join(dir, "missing.json"), true)).toEqual({ passed: 0, failed: 1, skipped: 0, failures: [] });
  });
});

test("make test runs every vitest project", () => {
  const projects = (config.test?.projects ?? []) as readonly { readonly test: { readonly name: string } }[];
  expect(tests.map(({ name }) => name).sort()).toEqual(
    [...projects.map(({ test }) => test.name), "release", "sandboxd"].sort(),
  );
});

describe("tallyGo()", () => {
  const event = (Action: string, Test?: string): string => JSON.stringify({ Action, Test, Package: "p" });

  test.each([
    ["counts tests, not packages", [event("pass", "TestA"), event("skip", "TestB"), event("pass")], true, [1, 0, 1]],
    ["counts failures", [event("fail", "TestA"), event("fail")], false, [0, 1, 0]],
    ["counts a package that does not build as one failure", ["x.go:1: syntax error", event("fail")], false, [0, 1, 0]],
  ] as const)("%s", (_name, lines, ok, [passed, failed, skipped]) => {
    expect(tallyGo(lines.join("\n"), ok)).toMatchObject({ passed, failed, skipped });
  });

  test("names failed tests", () => {
    expect(tallyGo([event("fail", "TestA"), event("fail")].join("\n"), false).failures).toEqual([
      { name: "p > TestA", file: "p" },
    ]);
  });

  test("shows the output of tests and of the compiler", () => {
    const said = JSON.stringify({ Action: "output", Test: "TestA", Output: "x_test.go:3: wrong\n" });
    expect(tallyGo(`${said}\nx.go:1: syntax error`, false).output).toBe("x_test.go:3: wrong\nx.go:1: syntax error\n");
  });
});
