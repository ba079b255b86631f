import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  callerOf,
  type Endpoint,
  hostSnippet,
  hosts,
  type Settings,
  serveStdio,
  takeStandardOutput,
  userOf,
} from "@agent-sandbox/mcp";
import { isSandboxError } from "@agent-sandbox/sdk";
import { loadedServers, NodeHttp } from "@agent-sandbox/sdk/internal";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { hostImage, isBox } from "../client/default-image.ts";
import { findRouter } from "../client/router-address.ts";
import { CommandError } from "../command-error.ts";
import { version } from "../version.ts";

export interface McpOptions extends GlobalOptions {
  readonly template?: string;
  readonly image?: string;
  readonly workspace?: string;
  readonly router?: string;
  /** False with `--no-auto-sandbox`. */
  readonly autoSandbox?: boolean;
}

/** Serves one host over the standard input and output, until the input ends. */
export async function mcp(options: McpOptions): Promise<void> {
  const output = takeStandardOutput();
  const { template, image, workspace, autoSandbox = true } = options;
  if (template !== undefined && image !== undefined)
    throw new CommandError("name a --template or an --image, not both");
  await using connection = await connect(options);
  await using router = await findRouter(connection, options.router);
  const token = process.env["AGENT_SANDBOX_TOKEN"];
  const { namespace } = connection;
  const servers = loadedServers({ namespace, ...(token && { token }) }, connection.access, router.url);
  using http = new NodeHttp();
  const user = await userOf(http.send, servers).catch((error: unknown) => {
    throw isSandboxError(error) ? new CommandError(error.message, { cause: error }) : error;
  });
  const source = await sourceOf(connection, options);
  await serveStdio({
    caller: callerOf({ user, send: http.send, servers, ...(workspace !== undefined && { workspace }) }),
    settings: { source, autoSandbox },
    version,
    input: process.stdin,
    output,
    signal: interrupted(),
    onError: (error) => console.error(`agent-sandbox mcp: ${error.message}`),
  });
  process.stdin.destroy();
}

/** What sandboxes are made from if the agent names nothing. Undefined in a cluster, where the agent must name it. */
async function sourceOf(connection: Connection, { template, image }: McpOptions): Promise<Settings["source"]> {
  if (template !== undefined) return { template };
  if (image !== undefined) return { image };
  return (await isBox(connection)) ? { image: hostImage } : undefined;
}

function interrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

export interface McpConfigOptions extends McpOptions {
  readonly http?: boolean;
}

/** Prints the configuration that makes a host use this server. */
export async function mcpConfig(host: string, options: McpConfigOptions): Promise<void> {
  const endpoint = options.http === true ? { url: await mcpUrl(options) } : commandOf(options);
  const snippet = hostSnippet(host, endpoint);
  if (snippet === undefined)
    throw new CommandError(`Cannot print the configuration of "${host}": it can be ${hosts.join(", ")}`);
  console.error(`# ${snippet.place}`);
  console.log(snippet.text);
  if (options.http === true) {
    console.error("# The token of the configuration: agent-sandbox token create NAMESPACE/NAME --duration 8h");
  }
}

/** The address for hosts that connect over HTTP. */
async function mcpUrl(options: McpOptions): Promise<string> {
  await using connection = await connect(options);
  const { compatUrl } = connection.box ?? {};
  if (compatUrl === undefined) {
    throw new CommandError('the server has no listener for MCP: start a box with "agent-sandbox up"');
  }
  const url = new URL("/mcp", compatUrl);
  for (const [name, value] of Object.entries(queryOf(options)))
    if (value !== undefined) url.searchParams.set(name, value);
  // Over HTTP the default is that calls name their sandbox.
  if (options.autoSandbox !== false) url.searchParams.set("auto_sandbox", "true");
  return url.href;
}

function queryOf({ namespace, template, image, workspace }: McpOptions): Readonly<Record<string, string | undefined>> {
  return { namespace, template, image, workspace };
}

/** The same command with the same options. Hosts start it in another folder, and often without the user's PATH. */
function commandOf({ dataDir, kubeconfig, context, router, autoSandbox, ...rest }: McpOptions): Endpoint {
  const flags: Readonly<Record<string, string | undefined>> = {
    "--data-dir": dataDir === undefined ? undefined : resolve(dataDir),
    "--kubeconfig": kubeconfig === undefined ? undefined : resolve(kubeconfig),
    "--context": context,
    "--router": router,
    ...Object.fromEntries(Object.entries(queryOf(rest)).map(([name, value]) => [`--${name}`, value])),
  };
  const words = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return { command: program(), args: ["mcp", ...words, ...(autoSandbox === false ? ["--no-auto-sandbox"] : [])] };
}

/** The program that was called, if it is beside the bundle. */
function program(): string {
  const own = join(dirname(dirname(process.argv[1] ?? "")), "agent-sandbox");
  return existsSync(own) ? own : "agent-sandbox";
}
