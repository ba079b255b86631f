import type { Command } from "commander";
import type { ExecOptions } from "./exec.ts";

type RunExec = (sandbox: string, words: readonly string[], options: ExecOptions) => Promise<void>;

/** As in kubectl, options can precede or follow the sandbox, and everything after `--` belongs to the command. */
export function execCommand(command: Command, run: RunExec): Command {
  return command
    .description("Run a command in a sandbox")
    .argument("<sandbox>")
    .argument("<command...>", "the command and its arguments, after --")
    .option("-i, --stdin", "pass standard input to the command")
    .option("-t, --tty", "allocate a terminal for the command")
    .option("-c, --container <name>", "container name (default: the first container)")
    .action((sandbox: string, words: string[], _options: unknown, self: Command) =>
      run(sandbox, words, self.optsWithGlobals()),
    );
}
