import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pythonWith, runPytest } from "../../clients/python-suite.ts";
import { available } from "../../clients/unavailable.ts";
import { whyNoBox } from "../../e2e/box.ts";
import { CompatBox } from "../compat-box.ts";
import { program } from "./mcp-host.ts";
import { addTenants } from "./tenants.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The first run on a machine downloads the client. */
const firstRunMs = 10 * 60_000;

describe.skipIf(reason !== undefined)("the official Python client", () => {
  let box: CompatBox;
  beforeAll(async () => {
    box = await CompatBox.start();
    await addTenants(box);
  }, 180_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  test("over stdio and HTTP, in both generations", { timeout: firstRunMs }, async (context) => {
    const { signal } = context;
    const folder = join(import.meta.dirname, "python");
    const requirements = join(folder, process.env["NEWEST"] ? "requirements-newest.txt" : "requirements.txt");
    const python = await available(pythonWith("compat-mcp", requirements, signal), context);
    const env = {
      AGENT_SANDBOX_TOKEN: box.token(),
      COLLEAGUE_TOKEN: box.token("team-a", "colleague"),
      MCP_URL: `${box.url}/mcp`,
      MCP_COMMAND: `${program} mcp --data-dir ${box.box.dataDir} --namespace team-a`,
    };
    const told = await available(runPytest({ python, folder, env, signal }), context);
    expect(told.failed).toEqual([]);
    expect(told.passed.length).toBeGreaterThanOrEqual(44);
  });
});
