import type { Command } from "commander";
import { withServer } from "./options.ts";

export function declareDashboard(program: Command): void {
  withServer(program.command("dashboard"))
    .description("Open the dashboard in the browser, logged in with this program's token")
    .option("--print", "print the login link instead of opening a browser; it works once, within a minute")
    .option(
      "--router <url>",
      "address of the router (default: that of the box, or a port-forward to that of the cluster)",
    )
    .addHelpText(
      "after",
      "\nWithout a box, this program serves the dashboard of the cluster itself, until it is interrupted.",
    )
    .action(async (_options, command) =>
      (await import("../commands/dashboard.ts")).dashboard(command.optsWithGlobals()),
    );
}
