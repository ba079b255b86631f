import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { type InnerResults, readInnerResults } from "../clients/inner-results.ts";
import { runCommand } from "../clients/run-command.ts";
import { demand, Unavailable } from "../clients/unavailable.ts";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { runAgent } from "./agent.ts";
import { ReferenceBox } from "./reference-box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const versions = process.env["NEWEST"] ? ["newest"] : ["1.0.8", "0.5.6"];
const python = `${import.meta.dirname}/python`;
/** The first run on a machine downloads the client. */
const firstRunMs = 10 * 60_000;

describe.skipIf(reason !== undefined)("published clients", () => {
  let box: ReferenceBox;
  beforeAll(async () => {
    buildCommandLine();
    box = await ReferenceBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  test.concurrent.for(versions)("k8s-agent-sandbox %s", { timeout: firstRunMs }, async (version, context) => {
    const { passed, failed, skipped } = await run(version, box.environment, context);
    console.log(`k8s-agent-sandbox ${version}: ${passed.length} passed, ${failed.length} failed`);
    const problems = [...failed, ...skipped].map(({ name, text }) => `${name}\n${text}`);
    expect(problems.join("\n")).toBe("");
    expect(passed.length).toBeGreaterThan(15);
  });

  test.concurrent("an agent in a sandbox creates another sandbox and runs a command in it", async () => {
    expect(await runAgent(box)).toBe("made by an agent\n");
  });
});

async function run(
  version: string,
  environment: Readonly<Record<string, string>>,
  { signal, skip }: Pick<TestContext, "signal" | "skip">,
): Promise<InnerResults> {
  const folder = mkdtempSync(join(tmpdir(), "reference-clients-"));
  try {
    const program = demand(
      "make a virtual environment",
      await runCommand(`${python}/environment.sh`, [version], { signal }),
    );
    const results = join(folder, "results");
    writeFileSync(results, "");
    const env = { ...environment, TEST_RESULTS: results, PYTHONDONTWRITEBYTECODE: "1" };
    const ended = await runCommand(program.trim(), ["-m", "pytest", "-q"], { cwd: python, env, signal });
    const told = readInnerResults(readFileSync(results, "utf8"));
    if (ended.code !== 0 && told.failed.length === 0) demand("run pytest", ended);
    return told;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    console.log(`k8s-agent-sandbox ${version}: skipped, ${error.message}`);
    return skip(error.message);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
