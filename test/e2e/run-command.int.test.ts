import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Sandbox } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");

describe.skipIf(reason !== undefined)("run, create and shell", { timeout: 120_000 }, () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up("--allow-host-path", join(root, "examples"));
    if (code !== 0) throw new Error(stderr);
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const names = async () => (await box.run("get", "sandboxes", "-o", "name")).stdout;

  test("run --rm passes streams, variables and the exit code, and leaves nothing behind", async () => {
    const script = 'echo "$GREETING"; cat; echo problem >&2; exit 7';
    const words = ["run", "--rm", "-i", "-e", "GREETING=hello", "--runtime", "runc", "--", "sh", "-c", script];
    expect(await box.runWith("input\n", ...words)).toEqual({ code: 7, stdout: "hello\ninput\n", stderr: "problem\n" });
    expect(await names()).toBe("");
  });

  test("run -i without a command opens a shell, which reads a script", async () => {
    for (const flag of ["-i", "-it"]) {
      const { code, stdout } = await box.runWith("echo from $0; exit 4\n", "run", "--rm", flag, "--runtime", "runc");
      expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringMatching(/^from (?:sh|bash)\n$/) });
    }
    expect(await names()).toBe("");
  });

  test("run mounts a folder that the operator allows", async () => {
    const words = ["run", "--rm", "--runtime", "runc", "-v", "examples:/work:ro", "-w", "/work", "--"];
    const { stdout } = await box.run(
      ...words,
      "sh",
      "-c",
      "ls first-sandbox.yaml; touch new 2>/dev/null || echo read-only",
    );
    expect(stdout).toBe("first-sandbox.yaml\nread-only\n");
  });

  test.each([
    {
      what: "a folder that is not allowed",
      words: ["-v", "/etc:/x"],
      says: "restart the box with --allow-host-path /etc",
    },
    { what: "a folder that does not exist", words: ["-v", "/none:/x"], says: '"/none": it does not exist' },
    { what: "an image that cannot be pulled", words: ["--image", "registry.invalid/x:1"], says: "does not start" },
    { what: "a runtime that does not exist", words: ["--runtime", "none"], says: "none" },
    { what: "a variable that is not set", words: ["-e", "NOT_SET_HERE"], says: '"NOT_SET_HERE": it is not set here' },
    { what: "a quantity that is not one", words: ["--memory", "lots"], says: "lots" },
  ])("$what is one line, and nothing is left behind", async ({ words, says }) => {
    const { code, stdout, stderr } = await box.run("run", ...words, "--timeout", "20s", "--", "true");
    expect({ code, stdout, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
    expect(stderr).toContain(says);
    expect(await names()).toBe("");
  });

  test("a signal reaches the command, and --rm deletes the sandbox", async () => {
    const script = 'trap "echo interrupted; exit 3" INT; echo started; while :; do sleep 0.1; done';
    const words = ["--data-dir", box.dataDir, "run", "--rm", "--runtime", "runc", "--", "sh", "-c", script];
    const child = spawn(join(root, "dist/agent-sandbox"), words, { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.once("data", () => child.kill("SIGINT"));
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect({ printed, code }).toEqual({ printed: "started\ninterrupted\n", code: 3 });
    expect(await names()).toBe("");
  });

  test("a signal while the sandbox starts or just after ends run, and nothing is left behind", async () => {
    const words = ["--data-dir", box.dataDir, "run", "--rm", "--name", "early", "--", "sleep", "60"];
    const child = spawn(join(root, "dist/agent-sandbox"), words, { stdio: "ignore" });
    await expect.poll(names, { interval: 20 }).toContain("early");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([143, null]);
    expect(await names()).toBe("");
  });

  test("run leaves no file of its own in a sandbox that stays", async () => {
    const words = ["run", "--name", "tidy", "--runtime", "runc", "--", "sh", "-c", "ls -A /tmp; exit 6"];
    const { code, stdout } = await box.run(...words);
    expect({ code, stdout }).toEqual({ code: 6, stdout: expect.stringMatching(/^\.agent-sandbox-[0-9a-f]{12}\n$/) });
    expect(await box.run("exec", "tidy", "--", "ls", "-A", "/tmp")).toEqual({ code: 0, stdout: "", stderr: "" });
    await box.run("delete", "sandbox/tidy");
  });

  test("SIGHUP, as of a lost terminal, ends the command, and --rm deletes the sandbox", async () => {
    const words = ["--data-dir", box.dataDir, "run", "--rm", "--runtime", "runc", "--"];
    const command = ["sh", "-c", "echo started; exec sleep 1000"];
    const child = spawn(join(root, "dist/agent-sandbox"), [...words, ...command], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.once("data", () => child.kill("SIGHUP"));
    const [stderr, exited] = await Promise.all([text(child.stderr), once(child, "exit")]);
    expect({ stderr, exited }).toEqual({ stderr: "", exited: [129, null] });
    expect(await names()).toBe("");
  });

  test("the server deletes the sandbox of run --rm if its client was killed", async () => {
    const words = [
      "--data-dir",
      box.dataDir,
      "run",
      "--rm",
      "--name",
      "killed",
      "--runtime",
      "runc",
      "--timeout",
      "30s",
    ];
    const command = ["sh", "-c", "echo started; exec sleep 1000"];
    const started = new Date().toISOString();
    const child = spawn(join(root, "dist/agent-sandbox"), [...words, "--", ...command], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.once("data", () => child.kill("SIGKILL"));
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    const left = JSON.parse((await box.run("get", "sandbox/killed", "-o", "json")).stdout) as Sandbox;
    const { shutdownTime = "", shutdownPolicy } = left.spec;
    expect(shutdownPolicy).toBe("Delete");
    expect(shutdownTime > started).toBe(true);
    // Two minutes earlier than the client would have it.
    const due = { ...left, spec: { ...left.spec, shutdownTime: started } };
    expect(await box.runWith(JSON.stringify(due), "apply", "-f", "-")).toMatchObject({ code: 0 });
    await expect.poll(names).toBe("");
  });

  test("create makes a sandbox that stays; its name is taken then", async () => {
    expect(await box.run("create", "work", "--runtime", "runc", "-l", "team=a")).toMatchObject({
      code: 0,
      stdout: "sandbox.agents.x-k8s.io/work ready\n",
    });
    expect(await box.run("create", "work")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("already exists"),
    });
    expect(await box.run("exec", "-it", "work", "--", "echo", "no terminal")).toMatchObject({
      code: 0,
      stdout: "no terminal\n",
      stderr: expect.stringContaining("input is not a terminal"),
    });
    expect(await box.run("shell", "work")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("needs a terminal"),
    });
    expect((await box.run("get", "sandboxes", "-l", "team=a", "-o", "name")).stdout).toContain("/work");
    const yaml = async (...more: string[]): Promise<string> =>
      (await box.run("get", "sandboxes", "-o", "yaml", ...more)).stdout;
    expect(await yaml()).toMatch(/\n {4}name: work\n/);
    expect(await yaml()).not.toContain("managedFields");
    expect(await yaml("--show-managed-fields")).toContain("managedFields");
  });

  test("cp copies files and folders in both directions", async () => {
    const name = join(box.dataDir, "copied");
    expect(await box.run("cp", "examples", "work:/root/")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await box.run("cp", "work:/root/examples", name)).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(readdirSync(name, { recursive: true })).toEqual(readdirSync(join(root, "examples"), { recursive: true }));
    expect(await box.runWith("from stdin", "cp", "-", "work:/root/a file")).toMatchObject({ code: 0 });
    expect(await box.run("cp", "work:/root/a file", "-")).toEqual({ code: 0, stdout: "from stdin", stderr: "" });
  });

  test.each([
    { words: ["examples", "none:/x"], says: 'sandbox "none" not found' },
    { words: ["/does/not/exist", "work:/root/"], says: "no such file" },
    { words: ["work:/none", "/tmp/x"], says: "Cannot copy: tar: none" },
    { words: ["examples", "work:/none/x"], says: "Cannot copy: tar: /none" },
    { words: ["a", "b"], says: "SANDBOX:PATH" },
  ])("cp $words is refused with one sentence", async ({ words, says }) => {
    const { code, stderr } = await box.run("cp", ...words);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(says) });
  });

  test("describe and events tell what happened, restart keeps files, delete --all deletes the rest", async () => {
    const described = await box.run("describe", "work");
    expect(described.stdout).toMatch(
      /^Name: +work\n(.*\n)*Ready: +True .*\n(.*\n)*Runtime: +runc\n(.*\n)*Events:\n.*LAST SEEN/,
    );
    expect((await box.run("events", "work")).stdout).toContain("Started container main");
    const pod = async () => (await box.run("get", "pod", "work", "-o", "json")).stdout;
    const { uid } = (JSON.parse(await pod()) as { metadata: { uid: string } }).metadata;
    await box.run("exec", "work", "--", "sh", "-c", "echo kept > /root/file");
    expect(await box.run("restart", "work")).toMatchObject({
      code: 0,
      stdout: "sandbox.agents.x-k8s.io/work restarted\n",
    });
    expect((JSON.parse(await pod()) as { metadata: { uid: string } }).metadata.uid).not.toBe(uid);
    expect((await box.run("exec", "work", "--", "cat", "/root/file")).stdout).toBe("kept\n");
    expect(await box.run("restart", "none")).toMatchObject({ code: 1, stderr: expect.stringContaining("not found") });
    expect(await box.run("delete", "namespaces", "--all")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("name them"),
    });
    expect((await box.run("delete", "sandboxes", "--all")).stdout).toBe("sandbox.agents.x-k8s.io/work deleted\n");
  });
});
