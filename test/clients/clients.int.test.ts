import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { runGoSuite } from "./go-suite.ts";
import type { InnerResults } from "./inner-results.ts";
import { runPythonSuite } from "./python-suite.ts";
import { startServer, type TestServer } from "./start-server.ts";
import { Unavailable } from "./unavailable.ts";

/** The first run on a machine downloads and compiles. */
const firstRunMs = 40 * 60_000;

type Suite = (kubeconfig: string, signal: AbortSignal) => Promise<InnerResults>;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** The output of failed and skipped tests of the suite, or an empty string when all passed. */
async function failures(name: string, suite: Suite, { signal, skip }: TestContext): Promise<string> {
  const { passed, failed, skipped } = await suite(server.kubeconfig, signal).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
    console.log(`${name}: skipped, ${error.message}`);
    return skip(error.message);
  });
  console.log(`${name}: ${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`);
  if (passed.length + failed.length === 0) return "no test ran";
  return [...failed, ...skipped].map((each) => `${each.name}\n${each.text}`).join("\n");
}

describe("the embedded API server", () => {
  test("passes the suite of client-go", { timeout: firstRunMs }, async (context) => {
    expect(await failures("client-go", runGoSuite, context)).toBe("");
  });

  test("passes the suite of the Python client", { timeout: firstRunMs }, async (context) => {
    expect(await failures("kubernetes for Python", runPythonSuite, context)).toBe("");
  });
});
