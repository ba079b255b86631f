import type { Command } from "commander";
import { withServer } from "./options.ts";

export function declareMcp(program: Command): void {
  const mcp = withSettings(withServer(program.command("mcp")))
    .description("Serve sandboxes as tools for agents: an MCP server on the standard input and output")
    .addHelpText(
      "after",
      `
Hosts such as Claude Code, Cursor and VS Code start this command. With AGENT_SANDBOX_TOKEN, that token is used instead of the kubeconfig's.

Examples:
  claude mcp add sandbox -- agent-sandbox mcp
  agent-sandbox mcp config vscode`,
    )
    .action(async (_options, command) => (await import("../commands/mcp.ts")).mcp(command.optsWithGlobals()));

  withSettings(withServer(mcp.command("config")))
    .description("Print the configuration for a host")
    .argument("<host>", "claude-code, claude-desktop, codex, cursor, gemini-cli or vscode")
    .option("--http", "for the address of the running box instead of this command")
    .action(async (host, options, command) => {
      const all = command.optsWithGlobals();
      // Otherwise the default of the command above would replace the option.
      const autoSandbox = options.autoSandbox && all.autoSandbox;
      await (await import("../commands/mcp.ts")).mcpConfig(host, { ...all, autoSandbox });
    });
}

function withSettings(command: Command): Command {
  return command
    .option("--template <name>", "SandboxTemplate or SandboxWarmPool of sandboxes for which the agent names none")
    .option("--image <image>", 'image of sandboxes for which the agent names none (default: in a box "host")')
    .option("--workspace <name>", "separates the sandboxes of several projects of one user")
    .option(
      "--router <url>",
      "address of the router (default: that of the box, or a port-forward to that of the cluster)",
    )
    .option("--no-auto-sandbox", "refuse calls that name no sandbox, instead of making one for them");
}
