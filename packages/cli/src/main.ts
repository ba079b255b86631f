import { CommandError } from "./command-error.ts";
import { createProgram } from "./program.ts";
import { reasonOf, reportFailure } from "./report-failure.ts";

// The reader of a pipe may close it early, as `head` does. Exit like a program that is ended by SIGPIPE.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(141);
  process.exit(reportFailure(new CommandError(`Cannot write the output: ${reasonOf(error)}`, { cause: error })));
});

try {
  await createProgram(process.argv.slice(2)).parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}
