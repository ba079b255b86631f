import { connect, type SandboxClient } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { type Case, contract, type Runner } from "./contract.ts";
import { goBuildTimeoutMs } from "./go-module.ts";
import { languageNames, languages } from "./languages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const arms = languageNames.flatMap((language) =>
  ["gvisor", "runc"].map((runtimeClass) => ({ language, runtimeClass })),
);

describe.skipIf(reason !== undefined)("the contract of the SDKs", { timeout: 120_000 }, () => {
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

  // Mostly waits for sandboxes, so all languages run at the same time. Each has its own sandbox.
  describe.each(arms)("$language on $runtimeClass", { concurrent: true }, ({ language, runtimeClass }) => {
    const name = `contract-${language.toLowerCase()}-${runtimeClass}`;
    let runner: Runner | undefined;

    beforeAll(async () => {
      await client.create({ image: "host", name, runtimeClass, labels: { "sdk-test": name } });
      runner = await languages[language](box.dataDir, name);
    }, goBuildTimeoutMs);
    afterAll(async () => {
      await runner?.[Symbol.asyncDispose]();
      await (await client.get(name)).delete();
    });

    test.each(contract)("$title", { concurrent: false }, async (each) => {
      const wanted = JSON.parse(JSON.stringify(each.with).replaceAll("$sandbox", name)) as object;
      expect(await runner?.run({ ...each, with: wanted })).toMatchObject(expected(each));
    });
  });
});

/** An outcome that must not have a result or an error has `undefined` there. */
function expected({ result, error }: Case): object {
  return { result: error === undefined ? result : undefined, error };
}
