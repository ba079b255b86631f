import type { Command } from "commander";
import { withServer } from "./options.ts";

/** Commands for the credentials of users and programs. */
export function declareTokens(program: Command): void {
  const token = withServer(program.command("token"))
    .description("Print your token, for programs that use the API server or the router")
    .addHelpText(
      "after",
      `
A token is a password. Give programs one of a ServiceAccount with few permissions and a short time.

Examples:
  curl -H "Authorization: Bearer $(agent-sandbox token)" http://127.0.0.1:7680/sandboxes/default/web/8000/
  agent-sandbox token create default/robot --duration 8h`,
    )
    .action(async (_options, command) => (await import("../commands/token.ts")).printToken(command.optsWithGlobals()));

  withServer(token.command("create"))
    .description("Print a new token of a ServiceAccount")
    .argument("<account>", "NAMESPACE/NAME, or NAME in the present namespace")
    .option("--duration <duration>", "how long it is valid, as in 30m or 24h; the server may shorten it", "1h")
    .action(async (account, _options, command) =>
      (await import("../commands/token.ts")).createToken(account, command.optsWithGlobals()),
    );

  withServer(program.command("env"))
    .description("Print the variables that point the clients of another platform at the box")
    .argument("<client>", "e2b or opensandbox")
    .addHelpText(
      "after",
      `\nExample:\n  eval "$(agent-sandbox env e2b)"\n\nThe key in them is your own token: see docs/clients.md.`,
    )
    .action(async (client, _options, command) =>
      (await import("../commands/env.ts")).printEnv(client, command.optsWithGlobals()),
    );
}
