import type { Command } from "commander";
import { longestWait, withServer } from "./options.ts";

/** Commands for templates, warm pools and claims. */
export function declarePools(program: Command): void {
  declareClaim(program);

  const pool = program
    .command("pool")
    .description("Show and resize warm pools, which keep sandboxes ready to be claimed")
    .addHelpText(
      "after",
      `
Examples:
  agent-sandbox pool status
  agent-sandbox pool scale python 5`,
    );

  withServer(pool.command("status"))
    .description(
      "Show how many sandboxes of each pool are ready and wanted, how many claims use it, and why not all are ready",
    )
    .argument("[pool]", "default: all pools of the namespace")
    .option("-A, --all-namespaces", "list pools in all namespaces")
    .action(async (name, _options, command) =>
      (await import("../commands/pool.ts")).poolStatus(name, command.optsWithGlobals()),
    );

  withServer(pool.command("scale"))
    .description("Change how many sandboxes a pool keeps ready. Claimed sandboxes do not count and stay")
    .argument("<pool>")
    .argument("<number>", "0 to 10000")
    .action(async (name, count, _options, command) =>
      (await import("../commands/pool.ts")).scalePool(name, count, command.optsWithGlobals()),
    );

  const template = program
    .command("template")
    .description("Show templates, which describe the sandboxes of pools and claims")
    .addHelpText("after", "\nExample:\n  agent-sandbox template ls");

  withServer(template.command("ls"))
    .description("List templates: image, runtime, what a suspension keeps, and the pools that use them")
    .option("-A, --all-namespaces", "list templates in all namespaces")
    .action(async (_options, command) =>
      (await import("../commands/template.ts")).listTemplates(command.optsWithGlobals()),
    );
}

function declareClaim(program: Command): void {
  withServer(program.command("claim"))
    .description(
      "Take a sandbox from a warm pool, or one made from a template. Prints its name, or runs a command in it",
    )
    .argument("<source>", "name of a pool, or of a template")
    .argument("[command...]", "the command and its arguments, after --")
    .option("--name <name>", "name of the claim (default: claim- and random characters)")
    .option("--rm", "delete the claim and its sandbox when the command has ended, was interrupted or lost its terminal")
    .option("-i, --stdin", "pass standard input to the command")
    .option("-t, --tty", "allocate a terminal for the command")
    .option(...longestWait)
    .addHelpText(
      "after",
      `
A template without a pool gets an empty one, so that the claim starts a new sandbox. Delete the claim to delete its sandbox.
Other commands accept the name of the claim instead of that of the sandbox.

Examples:
  agent-sandbox claim python --name mine
  agent-sandbox exec mine -- python3 -V
  agent-sandbox delete sandboxclaim/mine
  agent-sandbox claim python --rm -- python3 -c 'print(6 * 7)'`,
    )
    .action(async (source, words, _options, command) =>
      (await import("../commands/claim.ts")).claim(source, words, command.optsWithGlobals()),
    );
}
