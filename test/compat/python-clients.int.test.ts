import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pythonWith, runPytest } from "../clients/python-suite.ts";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The first run on a machine downloads the clients. */
const firstRunMs = 10 * 60_000;

/** Its suspended sandboxes keep files only. */
const plainTemplate = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  metadata: { name: "plain", namespace: "team-a" },
  spec: {
    runtime: "Injected",
    podTemplate: {
      spec: { containers: [{ name: "main", image: "host", env: [{ name: "SANDBOXD_ROOT_DIR", value: "/" }] }] },
    },
  },
};

describe.skipIf(reason !== undefined)("the Python clients", () => {
  let box: CompatBox;
  beforeAll(async () => {
    box = await CompatBox.start();
    await box.apply(plainTemplate);
  }, 180_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  test.for([
    ["e2b", 25],
    ["opensandbox", 60],
  ] as const)(
    "of %s: commands, files, lifecycle, code",
    { timeout: firstRunMs, concurrent: true },
    async ([name, tests], context) => {
      const { signal } = context;
      const folder = join(import.meta.dirname, "python", name);
      const requirements = join(folder, process.env["NEWEST"] ? "requirements-newest.txt" : "requirements.txt");
      const python = await available(pythonWith(`compat-${name}`, requirements, signal), context);
      const env = { ...box.environment(), KUBECONFIG: box.box.kubeconfig };
      const told = await available(runPytest({ python, folder, env, signal }), context);
      expect(told.failed).toEqual([]);
      expect(told.passed.length).toBeGreaterThan(tests);
    },
  );
});
