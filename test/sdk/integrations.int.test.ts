import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { runCommand } from "../clients/run-command.ts";
import { demand, Unavailable } from "../clients/unavailable.ts";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");
const programs = join(import.meta.dirname, "integrations");
/** The first run on a machine installs the frameworks. */
const firstRunMs = 15 * 60_000;

const frameworks = ["langchain", "openai_agents", "adk", "crewai"] as const;
type Framework = (typeof frameworks)[number];

/** So that no framework tries to reach its makers. */
const optOuts = {
  LANGSMITH_TRACING: "false",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
  OTEL_SDK_DISABLED: "true",
  CREWAI_DISABLE_TELEMETRY: "true",
  CREWAI_TRACING_ENABLED: "false",
};

/** What `suite.py` prints about a test. */
type Report = Readonly<Record<string, unknown>> & { readonly test: string };

const work = [
  "16 bytes written",
  "Exit code: 0\nstdout:\nsix times seven\n\nstderr:\non stderr\n",
  "six times seven\n",
  "file 16 agent.txt",
  "The code ended",
  "The code ended\nstdout:\nit is\n\nresult:\n42",
  "Exit code: 0\nstdout:\n1\n",
  "Exit code: 0\nstdout:\n2\n",
];
const failures = [
  /^Exit code: 3\nstderr:\nreason\n$/,
  /^Exit code: 0\nThe command wrote more output than was kept\nstdout:\nhostile\n.*left out here]\n.*hostile\n$/s,
  /^The code was interrupted because it printed too much.*hostilehostile/s,
  /^The code failed\nerror:\n.*ZeroDivisionError/s,
  /^The command was killed because its time was over\nstdout:\nbefore\n$/,
  /^Error \(NotFound\): .*missing.txt/,
  /^Error \(InvalidArgument\): The file ends before this offset$/,
  /^Error \(InvalidArgument\): Parameter 'timeout_seconds' must be at most 120$/,
  /^Error \(InvalidArgument\): Parameter 'command' must not be empty$/,
];
const used = ["Exit code: 0\nstdout:\nstill there\n", "there\n", "file 12 note"];
const gone = used.map(() => expect.stringMatching(/^Error \(NotFound\): /));

describe.skipIf(reason !== undefined)("tools for agent frameworks", () => {
  let box: Box;
  const scratch = mkdtempSync(join(tmpdir(), "integrations-"));
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  }, 180_000);
  afterAll(async () => {
    rmSync(scratch, { recursive: true, force: true });
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  test.concurrent.for(frameworks)(
    "an agent of %s uses a sandbox",
    { timeout: firstRunMs },
    async (framework, context) => {
      const { signal } = context;
      const python = await environmentOf(framework, context);
      const example = join(scratch, `${framework}.py`);
      writeFileSync(example, exampleOf(framework));
      const env = {
        ...optOuts,
        AGENT_SANDBOX_DATA_DIR: box.dataDir,
        HOME: scratch,
        PYTHONPATH: `${root}/clients/python/src:${programs}`,
        PYTHONDONTWRITEBYTECODE: "1",
      };
      const ended = await runCommand(python, ["suite.py", framework, example], { cwd: programs, env, signal });
      const reports = demand("run the suite", ended)
        .trim()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Report);

      const kinds = framework === "crewai" ? ["Sandbox"] : ["Sandbox", "AsyncSandbox"];
      const expected = kinds.flatMap((kind) => [
        { test: `work with ${kind}`, results: work },
        { test: `failures with ${kind}`, results: failures.map((pattern) => expect.stringMatching(pattern)) },
        { test: `deleted ${kind}`, results: gone },
      ]);
      const refused = { test: "refused AsyncSandbox", error: "CrewAI needs a Sandbox, not an AsyncSandbox" };
      expect(reports).toEqual([
        ...expected,
        ...(framework === "crewai" ? [refused] : []),
        { test: "temporary", results: used, later: gone, inside: 1, after: 0 },
        { test: "example", printed: expect.stringContaining("[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]") },
        { test: "internet", attempts: [] },
      ]);
    },
  );
});

/** The frameworks need different versions of the same packages, so each has its own environment. */
async function environmentOf(
  framework: Framework,
  { signal, skip }: Pick<TestContext, "signal" | "skip">,
): Promise<string> {
  const words = [`integrations-${framework}`, `${programs}/requirements-${framework}.txt`];
  const made = await runCommand(`${root}/scripts/python-environment.sh`, words, { signal });
  try {
    if (made.stderr.includes("No matching distribution")) throw new Unavailable(`not for this Python: ${made.stderr}`);
    return demand("make a virtual environment", made).trim();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    console.log(`${framework}: skipped, ${error.message}`);
    return skip(error.message);
  }
}

/** The example of the guide that imports the tools of a framework. */
function exampleOf(framework: Framework): string {
  const guide = readFileSync(join(root, "docs/guides/agents.md"), "utf8");
  const examples = [...guide.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  const found = examples.filter((code) => code.includes(`k8s_agent_sandbox.integrations.${framework} import`));
  expect(found).toHaveLength(1);
  return found.join();
}
