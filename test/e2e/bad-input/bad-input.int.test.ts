import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../../../packages/cli/src/program.ts";
import { Box, buildCommandLine, execute, type Outcome, whyNoBox } from "../box.ts";
import { badValues, type Refusal, unknownNames, withoutBox, withoutPermission } from "./refusals.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** Sandboxes and everything that commands create. */
const kinds = "sandboxes,sandboxclaims,sandboxsnapshots,sandboxwarmpools,sandboxtemplates";

const pool = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: python }
spec: { podTemplate: { spec: { containers: [{ name: main, image: host }] } } }
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: warm }
spec: { replicas: 0, sandboxTemplateRef: { name: python } }
`;

/** These need no server, or take no values. `without-root.int.test.ts`, `service.int.test.ts` and the suites of manager and router refuse them. */
const elsewhere = /^(?:manager|router|service .*|down|doctor|config|config path|image prune|help|__complete)$/;

function leaves(): string[] {
  return createProgram().commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((child) => `${command.name()} ${child.name()}`),
  );
}

test("every command is in a table", () => {
  const rows = [...unknownNames, ...badValues].map(({ words }) => words);
  const all = [...rows, ...withoutPermission, ...withoutBox].map((words) => words.join(" "));
  const missing = leaves().filter(
    (path) => !elsewhere.test(path) && !all.some((row) => row === path || row.startsWith(`${path} `)),
  );
  expect(missing).toEqual([]);
});

describe.skipIf(reason !== undefined)("bad input", { timeout: 120_000 }, () => {
  let box: Box;
  let before: string;
  const objects = async (): Promise<string> => (await box.run("get", kinds, "-o", "name")).stdout;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up("--default-runtime", "runc");
    if (code !== 0) throw new Error(stderr);
    await box.run("create", "work");
    await box.runWith(pool, "apply", "-f", "-");
    before = await objects();
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  async function expectRefusal({ words, says, code = 1 }: Refusal): Promise<void> {
    const outcome = await box.run(...words);
    expect(outcome).toEqual({ code, stdout: "", stderr: expect.stringContaining(says) });
    expect(outcome.stderr.trim().split("\n")).toHaveLength(1);
  }

  describe("names that do not exist", () => {
    test.concurrent.each(unknownNames)("$words: $says", expectRefusal);
    test("nothing is left behind", async () => {
      await expect.poll(objects, { timeout: 30_000 }).toBe(before);
    });
  });

  describe("values that cannot be used", () => {
    test.concurrent.each(badValues)("$words: $says", expectRefusal);
    test("nothing is left behind", async () => {
      await expect.poll(objects, { timeout: 30_000 }).toBe(before);
    });
  });

  describe("a user with few permissions learns which one is missing", () => {
    let kubeconfig: string;
    beforeAll(async () => {
      await box.runWith('{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"weak"}}', "apply", "-f", "-");
      const token = (await box.run("token", "create", "default/weak")).stdout.trim();
      kubeconfig = join(box.dataDir, "weak.kubeconfig");
      const own = JSON.parse(readFileSync(box.kubeconfig, "utf8")) as { users: { name: string }[] };
      const users = own.users.map(({ name }) => ({ name, user: { token } }));
      writeFileSync(kubeconfig, JSON.stringify({ ...own, users }));
    });

    test.concurrent.each(withoutPermission.map((words) => ({ words })))("$words", async ({ words }) => {
      const { code, stdout, stderr } = await box.run(...words, "--kubeconfig", kubeconfig, ...commandOf(words));
      expect({ code, stdout, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
      expect(stderr).toMatch(
        /"system:serviceaccount:default:weak" cannot \w+ resource .*; ask the operator for a Role/,
      );
    });

    test("nothing is left behind", async () => {
      await expect.poll(objects, { timeout: 30_000 }).toBe(before);
    });

    test("their commands changed nothing", async () => {
      expect((await box.run("exec", "work", "--", "echo", "still here")).stdout).toBe("still here\n");
    });
  });

  test.concurrent.each(withoutBox.map((words) => ({ words })))("without a box: $words", async ({ words }) => {
    const stderr = 'error: no box is running in /none: start one with "agent-sandbox up", or pass --kubeconfig\n';
    expect(await nowhere(...words, ...commandOf(words))).toEqual({ code: 1, stdout: "", stderr });
  });

  test("status without a box has an exit status of its own", async () => {
    const { code, stdout } = await nowhere("status");
    expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining("agent-sandbox up") });
  });
});

const nowhere = (...words: string[]): Promise<Outcome> =>
  execute("dist/agent-sandbox", ["--data-dir", "/none", ...words], "");

/** `run` and `exec` need a command, after the options. */
function commandOf([name]: readonly string[]): readonly string[] {
  return name === "run" || name === "exec" ? ["--", "true"] : [];
}
