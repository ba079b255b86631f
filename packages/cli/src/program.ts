import { Command } from "commander";
import { declareBox } from "./declare/box.ts";
import { declareCluster } from "./declare/cluster.ts";
import { declareCompletion } from "./declare/completion.ts";
import { declareConfig } from "./declare/config.ts";
import { declareDashboard } from "./declare/dashboard.ts";
import { declareImages } from "./declare/images.ts";
import { declareMcp } from "./declare/mcp.ts";
import { declareObjects, declareSessions } from "./declare/objects.ts";
import { withFolder, withServer } from "./declare/options.ts";
import { declarePools } from "./declare/pools.ts";
import { declareAccess, declareDiagnosis, declareSandboxes } from "./declare/sandboxes.ts";
import { declareState } from "./declare/state.ts";
import { declareSuggestions } from "./declare/suggestions.ts";
import { declareTokens } from "./declare/tokens.ts";
import { version } from "./version.ts";

const exitStatuses = `
Exit status:
  0          success
  1          failure; the standard error says in one line what to do
  3          "status" found no running box
  126, 127   the program of "exec" cannot be executed, or does not exist
  128 + n    ended by signal n, as in 130 after Ctrl-C
  137        the sandbox was suspended, restarted or deleted while a command ran in it
  141        the reader of the output has closed the pipe
"run", "exec", "shell" and "claim" return the exit status of their command.`;

/** The commands that are typed most often, and the groups that declare them. */
const frequent: readonly (readonly [names: readonly string[], declare: (program: Command) => void])[] = [
  [["run", "create"], declareSandboxes],
  [["shell", "open", "cp"], declareAccess],
  [["apply", "get", "delete", "wait"], declareObjects],
  [["exec", "logs", "port-forward"], declareSessions],
];

export const frequentCommands: readonly string[] = frequent.flatMap(([names]) => names);

/**
 * The commands and their options. Each command loads its module when it runs, so that `--help` and `get` start fast. A frequent command is
 * declared without the others, which would take a fifteenth of the time of `get`. Without words, all are.
 */
export function createProgram(words: readonly string[] = []): Command {
  const program = new Command("agent-sandbox")
    .description("Run isolated, stateful sandboxes with stable names, on this machine or on any Kubernetes cluster.")
    .version(version, "--version")
    .addHelpText("after", exitStatuses)
    .enablePositionalOptions();

  withServer(program);
  const name = commandOf(program, words);
  const [, declare = declareAll] = frequent.find(([names]) => names.includes(name ?? "")) ?? [];
  declare(program);
  declareSuggestions(program);
  adviseHelp(program, "agent-sandbox");
  return program;
}

/** The first word that is neither an option of the program nor its value. */
function commandOf({ options }: Command, words: readonly string[]): string | undefined {
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (word === "--") return undefined;
    if (!word.startsWith("-")) return word;
    const option = options.find(({ long, short }) => word === long || word === short);
    if (option?.required === true) index += 1;
  }
  return undefined;
}

/** The help lists the commands in this order. */
function declareAll(program: Command): void {
  declareBox(program);
  declareDashboard(program);
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
  declareMcp(program);
  declareConfig(program);

  withFolder(program.command("doctor"))
    .description("Check what this machine supports, what is missing and how to install it")
    .action(async (_options, command) => (await import("./commands/doctor.ts")).doctor(command.optsWithGlobals()));

  declareCompletion(program);

  declareCluster(program);

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
}

/** After a usage error, each command names its own help. */
function adviseHelp(command: Command, path: string): void {
  const what = command.commands.length > 0 ? "to list the commands" : "for its arguments and options";
  const runsCommand = command.registeredArguments.some((argument) => argument.name() === "command");
  const place = runsCommand ? " Options of the command to run go after --." : "";
  command.showHelpAfterError(`Run ${path} --help ${what}.${place}`);
  for (const child of command.commands) adviseHelp(child, `${path} ${child.name()}`);
}
