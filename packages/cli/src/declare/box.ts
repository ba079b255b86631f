import type { Command } from "commander";
import { defaultCompatListen, defaultDashboardListen, defaultListen, defaultRouterListen } from "../box/box-paths.ts";
import { appended, withFolder, withServer } from "./options.ts";

/** Commands that start and stop the box. */
export function declareBox(program: Command): void {
  declareUp(program);

  withFolder(program.command("down"))
    .description("Stop the box. Sandboxes keep running; the next `up` manages them again")
    .option("--purge", "also stop every sandbox and delete the data folder; on a terminal it asks first")
    .option("-y, --yes", "with --purge: do not ask")
    .action(async (_options, command) => (await import("../commands/down.ts")).down(command.optsWithGlobals()));

  withServer(program.command("status"))
    .description("Show whether the box is running, its addresses and its sandboxes")
    .action(async (_options, command) => (await import("../commands/status.ts")).status(command.optsWithGlobals()));

  declareService(program);
}

function declareUp(program: Command): void {
  withFolder(program.command("up"))
    .description("Start the box: API server, controllers, node and router in one process")
    .option("--foreground", "run in the foreground and log to the terminal")
    .option("--listen <address>", `address of the API server (default: ${defaultListen})`)
    .option(
      "--router-listen <address>",
      `address of the router, which receives traffic for sandboxes (default: ${defaultRouterListen})`,
    )
    .option(
      "--dashboard-listen <address>",
      `address of the dashboard (default: ${defaultDashboardListen}, or a free port if --router-listen is given)`,
    )
    .option(
      "--compat-listen <address>",
      `address for MCP and for clients of other platforms, such as E2B (default: ${defaultCompatListen}, or a free port if --router-listen is given)`,
    )
    .option(
      "--audit-log <file>",
      "append one JSON line per API request to this file: user, verb, resource, response code",
    )
    .option(
      "--allow-origin <origin>",
      "let web pages of this origin, such as https://app.example, use the API server and the router; can be repeated",
      appended,
    )
    .option("--group <name>", "let the members of this group of the machine use the box, in the namespace default")
    .option("--allow-privileged", "allow privileged containers; they have nearly the rights of root on this machine")
    .option("--allow-host-path <folder>", "allow hostPath volumes below this folder; can be repeated", appended)
    .option(
      "--runtime <name=program>",
      "register another OCI runtime, such as kata=/opt/kata/bin/kata-runtime; can be repeated",
      appended,
    )
    .option(
      "--allow-runtime <name>",
      "allow Pods to select this runtime, such as runc where gVisor is the default; can be repeated",
      appended,
    )
    .option(
      "--state-key-file <file>",
      "encrypt saved memory with the 32 bytes in this file; repeat it for older keys that only decrypt",
      appended,
    )
    .option(
      "--state-limit <name=quantity>",
      "limit of saved memory or snapshots, such as bytes=20Gi or snapshotsPerNamespace=10; can be repeated",
      appended,
    )
    .option(
      "--default-runtime <name>",
      "runtime of Pods without runtimeClassName (default: gVisor if it works here, otherwise runc)",
    )
    .addHelpText(
      "after",
      "\nTo set these options permanently, write them to config.json in the data folder: see docs/operations.md.",
    )
    .action(async (_options, command) => (await import("../commands/up.ts")).up(command.optsWithGlobals()));
}

function declareService(program: Command): void {
  const service = program
    .command("service")
    .description("Run the box as a service of systemd, which starts it after every boot")
    .addHelpText(
      "after",
      "\nThe service takes its settings from config.json in the data folder: see docs/operations.md.",
    );

  withFolder(service.command("install"))
    .description("Install the service, and start it now and after every boot")
    .action(async (_options, command) =>
      (await import("../commands/service.ts")).installService(command.optsWithGlobals()),
    );

  service
    .command("uninstall")
    .description("Stop the service and remove it. Sandboxes keep running")
    .action(async () => (await import("../commands/service.ts")).uninstallService());

  withFolder(service.command("print"))
    .description("Print the systemd unit")
    .action(async (_options, command) =>
      (await import("../commands/service.ts")).printService(command.optsWithGlobals()),
    );
}
