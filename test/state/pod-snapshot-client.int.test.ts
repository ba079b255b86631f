import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { counter } from "../../packages/node/test/state/counter.ts";
import { runCommand } from "../clients/run-command.ts";
import { available } from "../clients/unavailable.ts";
import { OurPackage, pythonWithReference } from "../reference-clients/our-package.ts";
import { cannotRun, podOf, StateBox } from "./state-box.ts";

const manifest = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxTemplate",
      metadata: { name: "counter" },
      spec: { podTemplate: podOf(counter("echo $i > /root/count")) },
    },
    {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      metadata: { name: "counters" },
      spec: { replicas: 1, sandboxTemplateRef: { name: "counter" } },
    },
  ],
};

describe.skipIf(cannotRun)("the published Pod snapshot client", () => {
  let box: StateBox;
  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  // The first run on a machine downloads the client.
  test("takes, lists, restores and deletes snapshots, suspends and resumes", { timeout: 600_000 }, async (context) => {
    expect(await observed({}, context)).toEqual(expected);
  });

  test("and so does our package in its place", { timeout: 600_000 }, async (context) => {
    await using ours = await available(OurPackage.install(), context);
    expect(await observed(ours.env, context)).toEqual(expected);
  });

  /** What the client observed, with the modules that the environment adds. */
  async function observed(env: Readonly<Record<string, string>>, context: TestContext): Promise<object> {
    const { signal } = context;
    const python = await available(pythonWithReference(signal), context);
    const applied = await box.box.runWith(JSON.stringify(manifest), "apply", "-f", "-");
    expect(applied).toMatchObject({ code: 0 });
    const script = `${import.meta.dirname}/pod-snapshot-client.py`;
    const added = { KUBECONFIG: box.box.kubeconfig, PYTHONDONTWRITEBYTECODE: "1" };
    const { stdout, stderr } = await runCommand(python, [script, "counters"], { env: { ...env, ...added }, signal });
    const last = stdout.trim().split("\n").at(-1) ?? "";
    if (!last.startsWith("{")) throw new Error(`Cannot read what the client observed: ${stdout}${stderr}`);
    const { pod, list, ...seen } = JSON.parse(last) as { readonly pod: string; readonly list: readonly unknown[] };
    expect(list).toEqual([[true, pod, "Ready"]]);
    return seen;
  }
});

const expected = {
  create: true,
  suspend: true,
  resume: true,
  resumed_from_newest: true,
  continued: true,
  suspend_again: true,
  restore: true,
  unknown_refused: true,
  delete: true,
  left: [true],
};
