import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { runPytest } from "../clients/python-suite.ts";
import { runCommand } from "../clients/run-command.ts";
import { available } from "../clients/unavailable.ts";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { runAgent } from "./agent.ts";
import { OurPackage, pythonWithDependencies, pythonWithReference } from "./our-package.ts";
import { buildPythonImage } from "./python-image.ts";
import { ReferenceBox } from "./reference-box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const versions = process.env["NEWEST"] ? ["newest"] : ["1.0.8", "0.5.6"];
const published = join(import.meta.dirname, "python");
const ours = join(import.meta.dirname, "../../clients/python/tests/reference");
/** The first run on a machine downloads the client. */
const firstRunMs = 10 * 60_000;

/** As users find it in introductions to agent sandboxes. */
const introduction = String.raw`from agentic_sandbox_client import SandboxClient; client = SandboxClient(); sandbox = client.create_sandbox(name="my-sandbox", image="python:3.11"); result = sandbox.execute("python -c 'print(\"Hello\")'"); sandbox.delete()`;

describe.skipIf(reason !== undefined)("the reference's Python client", () => {
  let box: ReferenceBox;
  let folder: string;
  beforeAll(async () => {
    buildCommandLine();
    box = await ReferenceBox.start();
    folder = mkdtempSync(join(tmpdir(), "reference-clients-"));
  }, 180_000);
  afterAll(async () => {
    await installing?.then((made) => made[Symbol.asyncDispose]()).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  let installing: Promise<OurPackage> | undefined;
  /** The environment in which our package replaces the published one. */
  const replaced = async (context: TestContext): Promise<Readonly<Record<string, string>>> => {
    installing ??= OurPackage.install();
    const { env } = await available(installing, context);
    return { ...env, AGENT_SANDBOX_DATA_DIR: box.box.dataDir };
  };

  test.concurrent.for(versions)("k8s-agent-sandbox %s", { timeout: firstRunMs }, async (version, context) => {
    const python = pythonWithReference(context.signal, version);
    const { problems, count } = await run(python, { folder: published, env: box.environment }, context);
    expect(problems).toBe("");
    expect(count).toBeGreaterThan(15);
  });

  test.concurrent("our package in its place", { timeout: firstRunMs }, async (context) => {
    const { AGENT_SANDBOX_DATA_DIR: _, ...env } = await replaced(context);
    const place = { folder: published, env: { ...box.environment, ...env } };
    const { problems, count } = await run(pythonWithReference(context.signal), place, context);
    expect(problems).toBe("");
    expect(count).toBeGreaterThan(15);
  });

  test.concurrent("what our package does beyond it", { timeout: firstRunMs }, async (context) => {
    const place = { folder: ours, env: { ...box.environment, ...(await replaced(context)) } };
    // Without the packages that only the published one needs.
    const { problems, count } = await run(pythonWithDependencies(context.signal), place, context);
    expect(problems).toBe("");
    expect(count).toBeGreaterThan(30);
  });

  test.concurrent("our package has all its names", { timeout: firstRunMs }, async (context) => {
    const python = await available(pythonWithReference(context.signal), context);
    const { stdout } = await runCommand(python, [join(ours, "surface.py"), python], { signal: context.signal });
    expect(stdout.trim()).toBe("");
  });

  test.concurrent("a program of five lines with an image", { timeout: firstRunMs }, async (context) => {
    const { signal } = context;
    const archive = await buildPythonImage(folder, "python:3.11");
    expect(await box.box.run("image", "load", archive)).toMatchObject({ code: 0 });
    const python = await available(pythonWithReference(signal), context);
    const script = join(folder, "program.py");
    writeFileSync(script, `${introduction}\nprint(result)\n`);
    const env = { ...(await replaced(context)), KUBECONFIG: "", PYTHONDONTWRITEBYTECODE: "1" };
    const ended = await runCommand(python, [script], { env, signal });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("stdout='Hello\\n'") });
    expect((await box.box.run("get", "sandboxes", "-o", "name")).stdout).toBe("");
  });

  test.concurrent("an agent in a sandbox creates another sandbox and runs a command in it", async () => {
    expect(await runAgent(box)).toBe("made by an agent\n");
  });
});

/** Runs the tests of a folder. What PYTHONPATH has replaces the packages of this Python. */
async function run(
  found: Promise<string>,
  { folder, env }: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
  context: TestContext,
): Promise<{ readonly problems: string; readonly count: number }> {
  const python = await available(found, context);
  const { passed, failed, skipped } = await runPytest({ python, folder, env, signal: context.signal });
  const problems = [...failed, ...skipped].map(({ name, text }) => `${name}\n${text}`);
  return { problems: problems.join("\n"), count: passed.length };
}
