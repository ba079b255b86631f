import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { type Ended, runCommand } from "../clients/run-command.ts";
import { demand, Unavailable } from "../clients/unavailable.ts";
import { cannotRun, podOf, StateBox } from "./state-box.ts";

const counter = "i=0; while :; do i=$((i+1)); echo $i > /root/count; sleep 0.02; done";
const manifest = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxTemplate",
      metadata: { name: "counter" },
      spec: { podTemplate: podOf(["sh", "-c", counter]) },
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
    const { signal } = context;
    const made = await runCommand(`${import.meta.dirname}/../clients/python/environment.sh`, [], { signal });
    const python = python3(made, context).trim();
    const applied = await box.box.runWith(JSON.stringify(manifest), "apply", "-f", "-");
    expect(applied).toMatchObject({ code: 0 });
    const script = `${import.meta.dirname}/pod-snapshot-client.py`;
    const env = { KUBECONFIG: box.box.kubeconfig, PYTHONDONTWRITEBYTECODE: "1" };
    const { stdout, stderr } = await runCommand(python, [script, "counters"], { env, signal });
    const last = stdout.trim().split("\n").at(-1) ?? "";
    if (!last.startsWith("{")) throw new Error(`Cannot read what the client observed: ${stdout}${stderr}`);
    const { pod, ...seen } = JSON.parse(last) as Record<string, unknown>;
    expect(seen).toEqual({
      create: true,
      list: [[true, pod, "Ready"]],
      suspend: true,
      resume: true,
      resumed_from_newest: true,
      continued: true,
      suspend_again: true,
      restore: true,
      unknown_refused: true,
      delete: true,
      left: [true],
    });
  });
});

/** The Python that has the client. Skips the test if the client can be neither found nor downloaded. */
function python3(made: Ended, { skip }: TestContext): string {
  try {
    return demand("make a virtual environment", made);
  } catch (error) {
    if (error instanceof Unavailable) return skip(error.message);
    throw error;
  }
}
