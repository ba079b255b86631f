import type { Command } from "commander";
import type { ExecOptions } from "./exec.ts";

type RunExec = (sandbox: string, words: readonly string[], options: ExecOptions) => Promise<void>;

/** As with kubectl, options may stand before the sandbox and behind it; what follows `--` is the command's own. */
export function execCommand(command: Command, run: RunExec): Command {
  return command
    .description("Run a command in a sandbox")
    .argument("<sandbox>")
    .argument("<command...>", "after --")
    .option("-i, --stdin", "pass standard input on")
    .option("-t, --tty", "give the command a terminal")
    .option("-c, --container <name>", "the container; the first by default")
    .action((sandbox: string, words: string[], _options: unknown, self: Command) =>
      run(sandbox, words, self.optsWithGlobals()),
    );
}
