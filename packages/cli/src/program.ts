import { Command } from "commander";
import { declareBox } from "./declare/box.ts";
import { declareConfig } from "./declare/config.ts";
import { declareImages } from "./declare/images.ts";
import { declareObjects, declareSessions } from "./declare/objects.ts";
import { withFolder, withServer } from "./declare/options.ts";
import { declarePools } from "./declare/pools.ts";
import { declareAccess, declareDiagnosis, declareSandboxes } from "./declare/sandboxes.ts";
import { declareState } from "./declare/state.ts";
import { declareSuggestions } from "./declare/suggestions.ts";
import { declareTokens } from "./declare/tokens.ts";
import { version } from "./version.ts";

/** All commands and their options. Each command loads its module when it runs, so that `--help` and `get` start fast. */
export function createProgram(): Command {
  const program = new Command("agent-sandbox")
    .description("Run isolated, stateful sandboxes with stable names, on this machine or on any Kubernetes cluster.")
    .version(version, "--version")
    .showHelpAfterError("Run agent-sandbox --help to list the commands.")
    .enablePositionalOptions();

  withServer(program);

  // The help lists the commands in this order.
  declareBox(program);
  declareSandboxes(program);
  declareAccess(program);
  declareObjects(program);
  declareSessions(program);
  declareDiagnosis(program);
  declareState(program);
  declarePools(program);

  withFolder(program.command("backup"))
    .description("Save all objects and the box's keys to one file. Works while the box is running or stopped")
    .argument("<file>")
    .action(async (file, _options, command) =>
      (await import("./commands/backup.ts")).backup(file, command.optsWithGlobals()),
    );

  withFolder(program.command("restore"))
    .description(
      "Replace all objects and keys of a box by a backup. Stops the box first. Volumes and images are not part of a backup",
    )
    .argument("<file>")
    .action(async (file, _options, command) =>
      (await import("./commands/restore.ts")).restore(file, command.optsWithGlobals()),
    );

  declareImages(program);
  declareTokens(program);
  declareConfig(program);

  withFolder(program.command("doctor"))
    .description("Check what this machine supports, what is missing and how to install it")
    .action(async (_options, command) => (await import("./commands/doctor.ts")).doctor(command.optsWithGlobals()));

  program
    .command("completion")
    .description("Print a script that completes commands in a shell, as in: source <(agent-sandbox completion bash)")
    .argument("<shell>", "bash, zsh or fish")
    .action(async (shell) => (await import("./commands/completion.ts")).completion(shell, program));

  program
    .command("manager")
    .description("Run the controllers against a Kubernetes cluster; --help lists the flags")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument("[flags...]")
    .action(async (flags) => (await import("./commands/manager.ts")).manager(flags, version));

  program
    .command("router")
    .description("Run the router against a Kubernetes cluster; --help lists the flags")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument("[flags...]")
    .action(async (flags) => (await import("./commands/router.ts")).router(flags, version));

  declareSuggestions(program);
  return program;
}
