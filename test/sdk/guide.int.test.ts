import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, execute, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guides/typescript.md"), "utf8");
const examples = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""], index) => ({
  number: index + 1,
  code,
}));

/** What each example prints, in order. */
const printed = [
  /^0 Hello from sandbox-/,
  /^Ready\ntrue 1$/m,
  /^6\n\n1\n2\n3\n.*in a terminal.*exitCode: 7/s,
  /^30\nZeroDivisionError/,
  /^a,b\n1,2\n\nin.csv 8/,
  /^'loaded'\nsandbox-/,
  /"nothing"/,
];

describe.skipIf(reason !== undefined)("the examples of the guide", { timeout: 120_000 }, () => {
  let box: Box;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  test("each has an expected output", () => {
    expect(printed).toHaveLength(examples.length);
  });

  test.each(examples)("example $number", async ({ number, code }) => {
    // Inside the repository, so that Node finds the package.
    const file = join(root, `.cache/example-${number}.ts`);
    writeFileSync(file, code);
    try {
      const words = [
        `AGENT_SANDBOX_DATA_DIR=${box.dataDir}`,
        "node",
        "--conditions=source",
        "--disable-warning=ExperimentalWarning",
        file,
      ];
      const { code: status, stdout, stderr } = await execute("env", words, "");
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toMatch(printed[number - 1] ?? /(?!)/);
    } finally {
      rmSync(file);
    }
  });
});
