import { createProgram } from "./program.ts";
import { reportFailure } from "./report-failure.ts";

// The reader of a pipe may close it early, as `head` does. Exit like a program that is ended by SIGPIPE.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(141);
  throw error;
});

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}
