import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { buildCommandLine, execute, type Outcome } from "../e2e/box.ts";
import { podTemplate, pool, template } from "./manifests.ts";
import { Namespace } from "./namespace.ts";

const cluster = inject("cluster");
const program = join(import.meta.dirname, "../../dist/agent-sandbox");

describe.skipIf(cluster.missing !== undefined)("the command line on a real cluster", { timeout: 300_000 }, () => {
  let namespace: Namespace;

  beforeAll(async () => {
    buildCommandLine();
    namespace = await Namespace.create(cluster, "cli");
  }, 300_000);
  afterAll(() => namespace?.[Symbol.asyncDispose]());

  const cli = (...words: string[]): Promise<Outcome> => cliWith("", ...words);
  const cliWith = (stdin: string, ...words: string[]): Promise<Outcome> =>
    execute(program, ["--kubeconfig", cluster.kubeconfig, "-n", namespace.name, ...words], stdin);
  const stdoutOf = async (...words: string[]): Promise<string> => (await cli(...words)).stdout;

  test.for(["create plain", "run --rm -- true"])("%s without an image says which option is missing", async (words) => {
    const { code, stdout, stderr } = await cli(...words.split(" "));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: name an image with --image: .*\n$/);
    expect(await stdoutOf("get", "sandboxes", "-o", "name")).toBe("");
  });

  test("run passes streams and the exit code, and --rm leaves nothing behind", async () => {
    const words = ["--rm", "-i", "--image", cluster.image, "-e", "GREETING=hello"];
    const script = 'echo "$GREETING"; cat; echo problem >&2; exit 7';
    const ran = await cliWith("input\n", "run", ...words, "--", "sh", "-c", script);
    expect(ran).toEqual({ code: 7, stdout: "hello\ninput\n", stderr: "problem\n" });
    expect(await stdoutOf("get", "sandboxes", "-o", "name")).toBe("");
  });

  test("a sandbox is created, used, described, suspended, resumed and deleted", async () => {
    const created = await cli("create", "work", "--image", cluster.image, "--memory", "64Mi");
    expect(created).toMatchObject({ code: 0, stdout: "sandbox.agents.x-k8s.io/work ready\n" });
    expect(await cli("exec", "work", "--", "sh", "-c", "hostname; exit 3")).toMatchObject({
      code: 3,
      stdout: "work\n",
    });

    // The image has no tar, which copies of files and folders need.
    expect(await cliWith("copied\n", "cp", "-", "work:/tmp/there")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await stdoutOf("cp", "work:/tmp/there", "-")).toBe("copied\n");

    expect(await stdoutOf("get", "sandboxes", "-o", "wide")).toMatch(/^NAME .*\n(.*\n)*work +True /);
    expect(await stdoutOf("describe", "work")).toMatch(/^Name: +work\n(.*\n)*Ready: +True /);
    expect(await stdoutOf("events", "work")).toContain("pod/work");
    const top = (): Promise<string> => stdoutOf("top", "work");
    await expect.poll(top, { timeout: 120_000, interval: 2000 }).toMatch(/\nwork +\d+m .* 64Mi\n/);

    expect(await cli("suspend", "work")).toMatchObject({ code: 0, stdout: expect.stringContaining("suspended") });
    expect(await cli("exec", "work", "--", "true")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("agent-sandbox resume work"),
    });
    expect(await cli("resume", "work")).toMatchObject({ code: 0, stdout: expect.stringContaining("resumed") });
    expect(await stdoutOf("exec", "work", "--", "echo", "again")).toBe("again\n");
    expect(await cli("delete", "sandbox/work")).toMatchObject({
      code: 0,
      stdout: "sandbox.agents.x-k8s.io/work deleted\n",
    });
  });

  test("a claim takes a member of a pool, and its name stands for the sandbox", async () => {
    await namespace.apply(template("warm"), pool("warm"));
    await namespace.wait("sandboxwarmpool/warm", "jsonpath={.status.readyReplicas}=1");
    expect(await stdoutOf("pool", "status")).toMatch(/\nwarm +warm +1 +1 /);
    const { code, stdout } = await cli("claim", "warm", "--name", "mine");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^warm-\w+\n$/) });
    expect(await stdoutOf("exec", "mine", "--", "hostname")).toBe(stdout);
    expect(await cli("delete", "sandbox/mine")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("sandboxclaim.extensions.agents.x-k8s.io/mine deleted"),
    });
    await cli("pool", "scale", "warm", "0");
  });

  test("logs shows what the first process prints", async () => {
    await namespace.apply(template("talks", { podTemplate: podTemplate("echo said; sleep 1000000") }));
    expect(await cli("claim", "talks", "--name", "talker")).toMatchObject({ code: 0 });
    await expect.poll(() => stdoutOf("logs", "talker"), { timeout: 60_000 }).toBe("said\n");
  });
});
