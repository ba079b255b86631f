import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { ReferenceBox } from "../reference-clients/reference-box.ts";
import { goBuildTimeoutMs, runGoWith } from "./go-module.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("the reference's Go interface", { timeout: goBuildTimeoutMs }, () => {
  let world: ReferenceBox | undefined;

  beforeAll(async () => {
    buildCommandLine();
    world = await ReferenceBox.start();
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test("works against a box: tunnel, direct mode, sandboxd, lifecycle, errors, cleanup", async () => {
    const { code, stdout } = await runGoWith(
      { ...world?.environment },
      "test",
      "-count=1",
      "-v",
      "./internal/reference",
    );
    const failed = stdout.split("\n").filter((line) => /^\s*(--- (FAIL|SKIP)|\S+_test\.go)/.test(line));
    expect(failed).toEqual([
      expect.stringContaining("is started by TestAutoCleanup"),
      expect.stringContaining("--- SKIP: TestInterrupted"),
    ]);
    expect(code).toBe(0);
  });
});
