import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, execute, whyNoBox } from "../e2e/box.ts";
import { goBuildTimeoutMs, goModule, runGo } from "./go-module.ts";
import { pythonCommand, pythonPackage, requirePython } from "./python-package.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");

interface Guide {
  readonly page: string;
  readonly reference: string;
  readonly extension: "ts" | "go" | "python";
  /** The command that runs a file, and its folder. */
  readonly command: readonly string[];
  readonly folder: string;
  /** What each example prints, in order. */
  readonly printed: readonly RegExp[];
}

const guides: readonly Guide[] = [
  {
    page: "typescript.md",
    reference: "typescript.md",
    extension: "ts",
    command: ["node", "--conditions=source", "--disable-warning=ExperimentalWarning"],
    folder: root,
    printed: [
      /^0 Hello from sandbox-/,
      /^Ready\ntrue 1$/m,
      /^6\n\n1\n2\n3\n.*in a terminal.*exitCode: 7/s,
      /^30\nZeroDivisionError/,
      /^a,b\n1,2\n\nin.csv 8/,
      /^'loaded'\nsandbox-/,
      /"nothing"/,
    ],
  },
  {
    page: "go.md",
    reference: "go.md",
    extension: "go",
    command: ["go", "run"],
    folder: goModule,
    printed: [
      /^0 Hello from sandbox-/,
      /^6\n1\n2\na,b\n'loaded'\n$/,
      /^true$/m,
      /^no shell: \$HOME\ntrue <nil>\ntrue\n42\n$/,
    ],
  },
  {
    page: "python.md",
    reference: "python.md",
    extension: "python",
    command: pythonCommand,
    folder: pythonPackage,
    printed: [
      /^0 Hello from sandbox-/,
      /^0\n1\n2\n$/,
      /^Ready\nTrue 1$/m,
      /^6\n\n1\n2\n3\n.*in a terminal.*exit_code=7/s,
      /^30\nZeroDivisionError/,
      /^a,b\n1,2\n\nin.csv 8/,
      /^'loaded'\nsandbox-.*\nsandbox-/,
      /^NotFound .*"nothing"/,
    ],
  },
];

function examplesOf({ page, extension }: Guide): string[] {
  const text = readFileSync(join(root, "docs/guides", page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${extension}\\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);
}

/** The examples of a reference page end with a comment that has their output. */
function referenceExamplesOf({ reference, extension }: Guide): { code: string; expected: RegExp }[] {
  const text = readFileSync(join(root, "docs/reference", reference), "utf8");
  const blocks = text.matchAll(new RegExp(`^\`\`\`${extension}\\n(.*?^(?://|#) Output: (.*?))^\`\`\`$`, "gms"));
  return [...blocks].map(([, code = "", output = ""]) => {
    const printed = output.replaceAll(/^(?:\/\/|#) ?/gm, "").trim();
    return { code, expected: new RegExp(`^${printed.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&")}\\s*$`) };
  });
}

const examples = guides.flatMap((guide) => [
  ...examplesOf(guide).map((code, index) => ({ ...guide, code, number: index + 1, expected: guide.printed[index] })),
  ...referenceExamplesOf(guide).map((example, index) => ({
    ...guide,
    ...example,
    page: `the ${guide.extension} reference`,
    number: 100 + index + 1,
  })),
]);

describe.skipIf(reason !== undefined)("the examples of the guides and reference pages", { timeout: 120_000 }, () => {
  let box: Box;
  // Inside the repository, so that Node finds the package.
  const scratch = join(root, ".cache/examples");

  beforeAll(async () => {
    mkdirSync(scratch, { recursive: true });
    // So that no example has to wait for the build.
    await runGo("build", "./...");
    await requirePython();
    buildCommandLine();
    box = await Box.make();
    for (const run of [() => box.up(), () => box.run("apply", "-f", "examples/python-pool.yaml")]) {
      const { code, stderr } = await run();
      if (code !== 0) throw new Error(stderr);
    }
  }, goBuildTimeoutMs);
  afterAll(async () => {
    rmSync(scratch, { recursive: true, force: true });
    await box?.[Symbol.asyncDispose]();
  });

  test.each(guides)("each example of $page has an expected output", (guide) => {
    expect(examplesOf(guide)).toHaveLength(guide.printed.length);
  });

  test.each(guides)("$reference has examples", (guide) => {
    expect(referenceExamplesOf(guide).length).toBeGreaterThan(2);
  });

  test.each(examples)("example $number of $page", async ({ extension, number, code, command, folder, expected }) => {
    const file = join(scratch, `example-${number}.${extension}`);
    writeFileSync(file, code);
    const words = ["-C", folder, `AGENT_SANDBOX_DATA_DIR=${box.dataDir}`, ...command, file];
    const { code: status, stdout, stderr } = await execute("env", words, "");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(expected ?? /(?!)/);
  });
});
