import { CommandError } from "./command-error.ts";

/** Prints a failure as one line and gives the exit code. Only what we did not foresee shows its stack. */
export function reportFailure(error: unknown): number {
  if (error instanceof CommandError) {
    console.error(`error: ${error.message}`);
    return error.exitCode;
  }
  if (error instanceof Error && error.name === "KubeError") {
    console.error(`Error from server: ${error.message}`);
    return 1;
  }
  console.error(error);
  return 1;
}
