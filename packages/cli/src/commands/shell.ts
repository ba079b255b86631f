import { connect, type GlobalOptions } from "../client/connect.ts";
import { podOf } from "../client/sandbox-pod.ts";
import { CommandError } from "../command-error.ts";
import { runInPod } from "./exec.ts";

export interface ShellOptions extends GlobalOptions {
  readonly container?: string;
}

/** bash if the image has it. */
export const interactiveShell: readonly string[] = [
  "sh",
  "-c",
  "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi",
];

/** Opens a shell in a sandbox. It wakes the sandbox if it is asleep. */
export async function shell(sandbox: string, options: ShellOptions): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandError(`"shell" needs a terminal: use "agent-sandbox exec ${sandbox} -- COMMAND" in scripts`);
  }
  await using connection = await connect(options);
  const pod = await podOf(connection, sandbox, { wakes: true });
  process.exitCode = await runInPod(connection, pod, interactiveShell, { ...options, stdin: true, tty: true });
}
