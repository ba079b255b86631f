import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { Box, buildCommandLine, whyNoBox } from "./box.ts";
import { Terminal } from "./terminal.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const containers = [
  { name: "main", image: "host", command: ["sh", "-c", "trap 'exit 0' TERM; hostname; sleep 1000000 & wait"] },
];
const object = (kind: string, spec: object): string =>
  JSON.stringify({ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, metadata: { name: "warm" }, spec });

/** What each command prints names the sandbox of the claim `mine`. They run in this order. */
const commands = [
  "exec mine -- hostname",
  "logs mine",
  "cp mine:/etc/hostname -",
  "describe mine",
  "events mine",
  "top mine",
  "get sandbox mine",
  "get sandbox/mine -o name",
  "wait sandbox/mine --for condition=Ready",
  "open mine 8000 --print",
  "snapshot create mine",
  "snapshot ls mine",
  "fork mine copy",
  "suspend mine",
  "resume mine",
  "restart mine",
] as const;

describe.skipIf(reason !== undefined)("the name of a claim stands for its sandbox", { timeout: 120_000 }, () => {
  let box: Box;
  let sandbox: string;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    const template = object("SandboxTemplate", { podTemplate: { spec: { runtimeClassName: "runc", containers } } });
    const pool = object("SandboxWarmPool", { replicas: 1, sandboxTemplateRef: { name: "warm" } });
    await box.runWith(`${template}\n---\n${pool}`, "apply", "-f", "-");
    sandbox = (await box.run("claim", "warm", "--name", "mine")).stdout.trim();
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  test.each(commands)("%s", async (words) => {
    const { code, stdout, stderr } = await box.run(...words.split(" "));
    expect({ code, stderr, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(sandbox) });
  });

  test("snapshot restore mine", async () => {
    const [, snapshot = ""] = /\n(\S+) /.exec((await box.run("snapshot", "ls", "mine")).stdout) ?? [];
    expect(await box.run("snapshot", "restore", "mine", snapshot)).toMatchObject({ code: 0 });
  });

  test("shell mine", async () => {
    using terminal = new Terminal(`dist/agent-sandbox --data-dir ${box.dataDir} shell mine`);
    await expect.poll(terminal.shown).toMatch(/[#$] $/);
    terminal.type("hostname; exit 4\r");
    expect(await terminal.status()).toBe(4);
    expect(terminal.shown()).toContain(`${sandbox}\r\n`);
  });

  test("port-forward mine", async () => {
    const program = join(import.meta.dirname, "../../dist/agent-sandbox");
    const child = spawn(program, ["--data-dir", box.dataDir, "port-forward", "mine", "0:8000"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(line.toString("utf8")).toContain("8000");
  });

  test("get sandbox mine --watch", async () => {
    const program = join(import.meta.dirname, "../../dist/agent-sandbox");
    const child = spawn(program, ["--data-dir", box.dataDir, "get", "sandbox", "mine", "--watch"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [lines] = (await once(child.stdout, "data")) as [Buffer];
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(lines.toString("utf8")).toContain(sandbox);
  });

  test("delete sandbox/mine deletes the claim", async () => {
    expect(await box.run("delete", "sandbox/mine")).toMatchObject({
      code: 0,
      stdout: "sandboxclaim.extensions.agents.x-k8s.io/mine deleted\n",
    });
  });
});

test("each command that takes a sandbox is tried with a claim", () => {
  const tried = [...commands, "snapshot restore mine", "shell mine", "port-forward mine", "delete sandbox/mine"];
  const taking = (command: Command, path: string): readonly string[] => [
    ...(command.registeredArguments.some((one) => /^(sandbox|sandboxes|source)$/.test(one.name())) ? [path] : []),
    ...command.commands.flatMap((child) => taking(child, `${path} ${child.name()}`)),
  ];
  const paths = createProgram().commands.flatMap((command) => taking(command, command.name()));
  expect(paths).toContain("exec");
  // The source of a claim is a pool or a template.
  const missing = paths.filter((path) => path !== "claim" && !tried.some((words) => words.startsWith(`${path} `)));
  expect(missing).toEqual([]);
});
