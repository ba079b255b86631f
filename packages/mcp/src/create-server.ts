import { McpServer } from "@modelcontextprotocol/server";
import type { Caller, Settings } from "./caller.ts";
import { Progress } from "./progress.ts";
import { registerResources } from "./resources.ts";
import { allTools } from "./tools/all-tools.ts";

const instructions = [
  "Sandboxes are isolated Linux machines: commands, code and files in them cannot reach the user's machine.",
  "Keep the name that create_sandbox returns, and pass it as sandbox to the other tools.",
  "Start servers and long commands with background, and read them with read_process.",
  "Use expose_port to get the URL of a server.",
  "Delete a sandbox when its work is done.",
].join(" ");

/** Deeper or larger arguments are not written by people or models. */
const maxArgumentElements = 10_000;
const listTtlMs = 300_000;

export interface ServerOptions {
  readonly caller: Caller;
  readonly settings: Settings;
  readonly version: string;
  /** Told about each call as it begins, so that a server can wait for its end. */
  readonly track?: (running: Promise<unknown>) => void;
}

/** A server for one connection or one request. It has no state of its own: the sandboxes are objects of the cluster. */
export function createServer({ caller, settings, version, track }: ServerOptions): McpServer {
  const info = { name: "agent-sandbox", title: "Agent Sandbox", version };
  const server = new McpServer(info, {
    instructions,
    maxToolInputElements: maxArgumentElements,
    capabilities: { tools: { listChanged: false }, resources: { listChanged: true } },
    cacheHints: { "tools/list": { ttlMs: listTtlMs, cacheScope: "private" } },
  });
  for (const tool of allTools) {
    const { name, title, description, annotations, input, output } = tool;
    const config = { title, description, annotations, inputSchema: input, outputSchema: output };
    server.registerTool(name, config, async (args, context) => {
      using progress = new Progress(context);
      const { signal } = context.mcpReq;
      const call = { caller, settings, signal, progress: (message: string) => progress.report(message) };
      const running = tool.call(args, call);
      track?.(running);
      // Not without await: the progress would end at once.
      return await running;
    });
  }
  registerResources(server, { caller, settings });
  return server;
}
