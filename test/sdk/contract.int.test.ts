import { connect, type SandboxClient } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { type Case, contract } from "./contract.ts";
import { TypeScriptRunner } from "./typescript-runner.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("the TypeScript SDK", { timeout: 120_000 }, () => {
  let box: Box;
  let client: SandboxClient;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    client = await connect({ dataDir: box.dataDir });
  });
  afterAll(async () => {
    client?.close();
    await box?.[Symbol.asyncDispose]();
  });

  describe.each(["gvisor", "runc"])("on %s", (runtimeClass) => {
    let runner: TypeScriptRunner;

    beforeAll(async () => {
      const name = `contract-${runtimeClass}`;
      await client.create({ image: "host", name, runtimeClass, labels: { "sdk-test": "contract" } });
      runner = await TypeScriptRunner.open({ dataDir: box.dataDir }, name);
    });
    afterAll(async () => {
      runner?.[Symbol.dispose]();
      await (await client.get(`contract-${runtimeClass}`)).delete();
    });

    test.each(contract)("$title", async (each) => {
      expect(await runner.run(each)).toMatchObject(expected(each));
    });
  });
});

/** An outcome that must not have a result or an error has `undefined` there. */
function expected({ result, error }: Case): object {
  return { result: error === undefined ? result : undefined, error };
}
