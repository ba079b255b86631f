import { registerHooks } from "node:module";
import type { Readable } from "node:stream";
import type { CompatBox } from "../compat-box.ts";
import type { Loose } from "../loose.ts";
import { npmPackages } from "../npm-packages.ts";

const versions = { "@modelcontextprotocol/sdk": "1.32.2", "@modelcontextprotocol/client": "2.4.0" };
export const program = `${import.meta.dirname}/../../../dist/agent-sandbox`;

/** The two generations of the official client. The newer one also speaks the older protocol, which is its default: `legacy`. */
export const generations = ["sdk 1.32", "client 2.4", "client 2.4, legacy"] as const;
export type Generation = (typeof generations)[number];

/** How a host reaches the server. */
export type Way = "stdio" | "http";

export interface HostOptions {
  readonly generation: Generation;
  readonly way: Way;
  /** Default: the account `user` of the namespace `team-a`. */
  readonly token?: string;
  /** More words of the command line. */
  readonly flags?: readonly string[];
  /** More of the address, such as `?workspace=a`. */
  readonly query?: string;
  readonly clientOptions?: object;
}

/** What the configuration of a host says. */
export type Launch =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string | undefined>>;
    }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

export type Packages = Awaited<ReturnType<typeof npmPackages>>;

/** The official clients, as published. */
export async function mcpPackages(): Promise<Packages> {
  const load = await npmPackages(versions);
  // Packages may have the condition that this repository uses for its own sources, and Node compiles no TypeScript in node_modules.
  registerHooks({
    resolve: (specifier, context, next) => {
      const conditions = context.conditions.filter((condition) => condition !== "source");
      return next(specifier, isInstalled(context.parentURL) ? { ...context, conditions } : context);
    },
  });
  return load;
}

const isInstalled = (url: string | undefined): boolean => url?.includes("/npm-compat-") === true;

/** A program that uses an MCP server through an official client. */
export class McpHost implements AsyncDisposable {
  readonly client: Loose;
  readonly transport: Loose;
  /** Which protocol the client speaks. */
  readonly isModern: boolean;
  readonly #isNewer: boolean;
  /** What the server has printed for people. */
  stderr = "";

  private constructor(client: Loose, transport: Loose, generation: Generation) {
    this.client = client;
    this.transport = transport;
    this.isModern = generation === "client 2.4";
    this.#isNewer = generation !== "sdk 1.32";
    (transport.stderr as Readable | undefined)?.on("data", (bytes: Buffer) => {
      this.stderr += bytes.toString();
    });
  }

  static connect(load: Packages, box: CompatBox, options: HostOptions): Promise<McpHost> {
    const { way, token = box.token(), flags = [], query = "" } = options;
    const args = ["mcp", "--data-dir", box.box.dataDir, "--namespace", "team-a", ...flags];
    const env = { AGENT_SANDBOX_TOKEN: token };
    const launch =
      way === "stdio"
        ? { command: program, args, env }
        : { url: `${box.url}/mcp${query}`, headers: { authorization: `Bearer ${token}` } };
    return McpHost.start(load, launch, options);
  }

  /** Starts or reaches a server as a host does whose configuration says so. */
  static async start(
    load: Packages,
    launch: Launch,
    { generation, clientOptions = {} }: Pick<HostOptions, "generation" | "clientOptions">,
  ): Promise<McpHost> {
    const isNewer = generation !== "sdk 1.32";
    const root = isNewer ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client";
    const transport = isNewer
      ? newTransport(launch, () => ({ ...load(root), ...load(`${root}/stdio`) }))
      : newTransport(launch, () => ({ ...load(`${root}/streamableHttp.js`), ...load(`${root}/stdio.js`) }));
    const { Client } = load(isNewer ? root : `${root}/index.js`);
    const mode = generation === "client 2.4" ? "auto" : "legacy";
    const negotiation = isNewer ? { versionNegotiation: { mode } } : {};
    const client = new Client({ name: "test", version: "1.0.0" }, { ...negotiation, ...clientOptions });
    const host = new McpHost(client, transport, generation);
    await client.connect(transport);
    return host;
  }

  /** Calls a tool. Other results than success are returned too. */
  call(name: string, args: object = {}, options: object = {}): Promise<Loose> {
    const params = { name, arguments: args };
    const wanted = { timeout: 120_000, ...options };
    return this.#isNewer ? this.client.callTool(params, wanted) : this.client.callTool(params, undefined, wanted);
  }

  /** The structured result of a call that must succeed. */
  async use(name: string, args: object = {}, options: object = {}): Promise<Loose> {
    const { isError, content, structuredContent } = await this.call(name, args, options);
    if (isError === true) throw new Error(`${name} failed: ${content[0].text}`);
    return structuredContent;
  }

  /** The text of a call that must fail. */
  async failure(name: string, args: object = {}): Promise<string> {
    const { isError, content } = await this.call(name, args);
    if (isError !== true) throw new Error(`${name} did not fail: ${content[0].text}`);
    return content[0].text as string;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

function newTransport(launch: Launch, load: () => Loose): Loose {
  const { StdioClientTransport, StreamableHTTPClientTransport } = load();
  if ("url" in launch) {
    return new StreamableHTTPClientTransport(new URL(launch.url), { requestInit: { headers: launch.headers } });
  }
  const { command, args, env } = launch;
  return new StdioClientTransport({ command, args, env: { PATH: process.env["PATH"], ...env }, stderr: "pipe" });
}
