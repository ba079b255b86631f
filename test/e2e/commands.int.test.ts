import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file, writeTestArchive } from "../../packages/node/src/testing/test-image.ts";
import { Box, buildCommandLine, execute, type Outcome, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const containers = [{ name: "main", image: "host" }];

/** In the short forms of articles. */
const short = (kind: string, name: string, spec: object): string =>
  JSON.stringify({ apiVersion: "agents.x-k8s.io/v1alpha1", kind, metadata: { name }, spec });

describe.skipIf(reason !== undefined)("commands for templates, pools, ports and tokens", { timeout: 120_000 }, () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const names = async (type: string) => (await box.run("get", type, "-o", "name")).stdout;

  test("short forms of a template and a pool are converted, and fill the pool", async () => {
    const template = { template: { spec: { containers, runtimeClassName: "runc" } } };
    const files = [
      short("SandboxTemplate", "python", template),
      short("SandboxWarmPool", "warm", { size: 1, template: "python" }),
    ];
    const { code, stdout, stderr } = await box.runWith(files.join("\n---\n"), "apply", "-f", "-");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        "sandboxtemplate.extensions.agents.x-k8s.io/python created\nsandboxwarmpool.extensions.agents.x-k8s.io/warm created\n",
    });
    expect(stderr).toContain('Converted SandboxTemplate "python"');
    await box.run("wait", "sandboxwarmpool/warm", "--for", "condition=Ready", "--timeout", "60s");
    expect((await box.run("pool", "status")).stdout).toMatch(
      /^NAME +TEMPLATE +READY +WANTED .*\nwarm +python +1 +1 +0 /,
    );
    expect((await box.run("template", "ls")).stdout).toMatch(/\npython +host +runc +<default> +warm /);
  });

  test("claim takes a sandbox from the pool and prints its name; --rm runs a command and leaves nothing", async () => {
    const claimed = await box.run("claim", "warm", "--name", "mine");
    expect(claimed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warm-\w+\n$/) });
    expect((await box.run("exec", "mine", "--", "hostname")).stdout).toBe(claimed.stdout);
    expect(await box.run("claim", "warm", "--name", "mine")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("already exists"),
    });
    const words = ["claim", "python", "--rm", "-i", "--", "sh", "-c", "cat; exit 5"];
    expect(await box.runWith("typed", ...words)).toEqual({ code: 5, stdout: "typed", stderr: "" });
    expect(await names("sandboxclaims")).toBe("sandboxclaim.extensions.agents.x-k8s.io/mine\n");
    await box.run("delete", "sandboxclaim/mine");
  });

  test("a claim of a template without a pool starts a new sandbox, and the empty pool goes with the template", async () => {
    const template = short("SandboxTemplate", "alone", {
      template: { spec: { containers, runtimeClassName: "runc" } },
    });
    await box.runWith(template, "apply", "-f", "-");
    expect(await box.run("claim", "alone", "--rm", "--", "echo", "new")).toEqual({
      code: 0,
      stdout: "new\n",
      stderr: "",
    });
    expect(await names("sandboxwarmpools")).toContain("/shadow-pool-alone");
    await box.runWith(template, "delete", "-f", "-");
    await expect.poll(() => names("sandboxwarmpools"), { timeout: 20_000 }).not.toContain("alone");
  });

  test("pool scale changes the size", async () => {
    expect(await box.run("pool", "scale", "warm", "0")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("/warm scaled\n"),
    });
    await expect.poll(() => names("sandboxes"), { timeout: 20_000 }).toBe("");
  });

  test("image load - reads an archive from the standard input", async () => {
    const folder = mkdtempSync(join(box.dataDir, "archive-"));
    const archive = await writeTestArchive(folder, { layers: [[file("hello", "there")]] }, "thing:v1");
    const script = `exec dist/agent-sandbox --data-dir ${box.dataDir} image load - `;
    const load = (input: string): Promise<Outcome> => execute("sh", ["-c", `${script} < ${input}`], "");
    expect(await load(archive)).toMatchObject({ code: 0, stdout: expect.stringContaining("thing:v1 loaded") });
    expect(await load("/dev/null")).toMatchObject({ code: 1, stderr: expect.stringContaining("the standard input") });
    expect(readdirSync(join(box.dataDir, "node/images/staging"))).toEqual([]);
  });

  test("token prints the user's token, and one of a ServiceAccount", async () => {
    const { stdout } = await box.run("token");
    expect(stdout).toBe(readFileSync(join(box.dataDir, "admin.token"), "utf8").trim().concat("\n"));
    const created = await box.run("token", "create", "default/default", "--duration", "10m");
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ey[\w.-]+\n$/) });
  });

  test.each([
    { words: ["claim", "none"], says: 'no SandboxWarmPool and no SandboxTemplate "none"' },
    { words: ["claim", "warm", "--rm"], says: "--rm deletes the claim after a command" },
    { words: ["pool", "scale", "none", "1"], says: 'pool "none" not found' },
    { words: ["pool", "status", "none"], says: 'pool "none" not found' },
    { words: ["ps"], says: 'Did you mean "agent-sandbox get sandboxes"?' },
  ])("$words is refused, and nothing is left behind", async ({ words, says }) => {
    const { code, stdout, stderr } = await box.run(...words);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining(says) });
    expect(await names("sandboxclaims")).toBe("");
  });
});
