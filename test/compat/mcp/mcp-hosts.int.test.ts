import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Block, blocksOf } from "../../../scripts/docs/markdown-blocks.ts";
import { available } from "../../clients/unavailable.ts";
import { whyNoBox } from "../../e2e/box.ts";
import { CompatBox } from "../compat-box.ts";
import { npmPackages } from "../npm-packages.ts";
import { readConfiguration } from "./host-configuration.ts";
import { type Launch, McpHost, mcpPackages, type Packages, program } from "./mcp-host.ts";
import { addTenants } from "./tenants.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const page = readFileSync(`${import.meta.dirname}/../../../docs/mcp.md`, "utf8");
const hosts = ["claude-code", "claude-desktop", "codex", "cursor", "gemini-cli", "vscode"];

const plain = { name: "plain", image: "host", warm: 0 };

/** The blocks of the section of each host. */
const documented = page
  .slice(page.indexOf("\n## Hosts\n"), page.indexOf("\n## Options\n"))
  .split("\n### ")
  .slice(1)
  .flatMap((section) => {
    const host = section
      .slice(0, section.indexOf("\n"))
      .toLowerCase()
      .replaceAll(" ", "-")
      .replace("vs-code", "vscode");
    return blocksOf(section).map((block, index) => [host, index + 1, block] as const);
  });

test("the page has an entry for the program and one for the address of each host", () => {
  const entries = hosts.map((host) => [host, documented.filter(([name]) => name === host).length]);
  expect(entries).toEqual(hosts.map((host) => [host, host === "claude-code" ? 4 : 2]));
});

describe.skipIf(reason !== undefined)("a host with the configuration", { timeout: 120_000 }, () => {
  let box: CompatBox;
  let load: Packages;
  let remote: NodeJS.Require;
  let token: string;
  let why: string | undefined;
  const remoteState = mkdtempSync(join(tmpdir(), "mcp-remote-"));
  beforeAll(async () => {
    const skip = ((message: string) => {
      why = message;
      throw new Error(message);
    }) as never;
    load = await available(mcpPackages(), { skip });
    remote = await available(npmPackages({ "mcp-remote": "0.15.1" }), { skip });
    box = await CompatBox.start();
    await addTenants(box);
    token = box.token();
  }, 300_000);
  afterAll(async () => {
    if (why !== undefined) console.warn(`skipped: ${why}`);
    await box?.[Symbol.asyncDispose]();
    rmSync(remoteState, { recursive: true });
  }, 120_000);

  /** As on a machine with a box at its usual places. */
  const here = (text: string): string =>
    text
      .replaceAll("http://127.0.0.1:7682", box.url)
      .replaceAll("/var/lib/agent-sandbox/kubeconfig", box.box.kubeconfig)
      .replaceAll("Bearer TOKEN", `Bearer ${token}`);

  /** The environment of the host: the program is on its PATH, the box in the usual folder, and the token in the variable of the page. */
  const variables = (): Record<string, string> => ({
    PATH: `${dirname(program)}:${process.env["PATH"]}`,
    AGENT_SANDBOX_DATA_DIR: box.box.dataDir,
    AGENT_SANDBOX_TOKEN: token,
  });

  /** The templates that the server lists. */
  async function useAs(host: string, text: string): Promise<unknown> {
    const launch = readConfiguration(host, here(text), { variables: variables(), typed: token });
    await using client = await McpHost.start(load, installed(launch), { generation: "sdk 1.32" });
    return (await client.use("list_templates", { namespace: "team-a" })).templates;
  }

  /** With the environment of the host, and with the package that `npx` would download. */
  function installed(launch: Launch): Launch {
    if ("url" in launch) return launch;
    const env = { ...variables(), ...launch.env };
    const [flag, name, ...args] = launch.args;
    if (launch.command !== "npx") return { ...launch, env };
    expect([flag, name]).toEqual(["-y", "mcp-remote"]);
    const manifest = remote.resolve("mcp-remote/package.json");
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly bin: Readonly<Record<string, string>> };
    return {
      command: process.execPath,
      args: [resolve(dirname(manifest), bin["mcp-remote"] ?? ""), ...args],
      env: { ...env, MCP_REMOTE_CONFIG_DIR: remoteState },
    };
  }

  test.each(documented)("of the page: %s, block %d", async (host: string, _number: number, block: Block) => {
    expect(await useAs(host, block.text.trim())).toContainEqual(plain);
  });

  test.for(hosts.flatMap((host) => [[], ["--http"]].map((flags) => [host, flags] as const)))(
    "that the program prints: %s %j",
    async ([host, flags]) => {
      const words = ["mcp", "config", host, "--data-dir", box.box.dataDir, "--namespace", "team-a", ...flags];
      const options = { encoding: "utf8", env: { ...variables(), AGENT_SANDBOX_DATA_DIR: "" } } as const;
      const text = execFileSync(program, words, { ...options, stdio: ["ignore", "pipe", "ignore"] });
      expect(text).not.toContain(token);
      expect(await useAs(host, text.trim())).toContainEqual(plain);
    },
  );
});
