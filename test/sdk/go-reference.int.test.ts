import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { ReferenceBox } from "../reference-clients/reference-box.ts";
import { goBuildTimeoutMs, runGoWith } from "./go-module.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const program = `${import.meta.dirname}/../../dist/agent-sandbox`;

describe.skipIf(reason !== undefined)("the reference's Go interface", { timeout: goBuildTimeoutMs }, () => {
  let world: ReferenceBox;

  beforeAll(async () => {
    buildCommandLine();
    world = await ReferenceBox.start();
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Runs Go tests, and returns the lines about those that did not pass. */
  async function goTest(environment: Record<string, string>, ...words: string[]): Promise<string[]> {
    const all = { ...world.environment, ...environment };
    const { code, stdout, stderr } = await runGoWith(all, "test", "-count=1", "-v", ...words, "./internal/reference");
    const problems = stdout.split("\n").filter((line) => /^\s*(?:--- (?:FAIL|SKIP)|\w+_test\.go|panic)/.test(line));
    return code === 0 && stdout.includes("--- PASS") ? problems : [...problems, `${stderr} (status ${code})`];
  }

  test("works against a box: tunnel, direct mode, sandboxd, lifecycle, errors, cleanup", async () => {
    expect(await goTest({}, "-skip", "^(TestInterrupted|TestRestart)$")).toEqual([]);
  });

  test("runs no command twice when the box is killed, and reports those that it lost", async () => {
    const { box } = world;
    const up = `up --listen ${box.listen} --router-listen 127.0.0.1:0 --allow-runtime runc`;
    const restart = `kill -9 ${box.pid()}; ${program} --data-dir ${box.dataDir} ${up}`;
    expect(await goTest({ RESTART_COMMAND: restart }, "-run", "^TestRestart$")).toEqual([]);
  });
});
