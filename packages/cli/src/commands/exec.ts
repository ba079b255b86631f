import { isatty } from "node:tty";
import type { WebSocket } from "ws";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { runExec, sendResize } from "../client/exec-channel.ts";
import { openExec } from "../client/open-exec.ts";
import { podOf, type SandboxPod } from "../client/sandbox-pod.ts";

export interface ExecOptions extends GlobalOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
}

export async function exec(sandbox: string, words: readonly string[], options: ExecOptions): Promise<void> {
  await using connection = await connect(options);
  const pod = await podOf(connection, sandbox, { wakes: true });
  process.exitCode = await runInPod(connection, pod, words, options);
}

/** Runs a command with the streams of this program. Returns its exit code. */
export async function runInPod(
  connection: Connection,
  pod: SandboxPod,
  words: readonly string[],
  options: Pick<ExecOptions, "stdin" | "tty" | "container">,
): Promise<number> {
  const tty = options.tty === true && isatty(0);
  if (options.tty === true && !tty) console.error("Unable to use a TTY - input is not a terminal");
  const { stdin: isOpen = false, container } = options;
  const socket = await openExec(connection, pod, { words, stdin: isOpen, tty, container });
  using _terminal = tty ? rawTerminal(socket) : undefined;
  const stdin = isOpen ? process.stdin : undefined;
  return runExec(socket, { stdin, stdout: process.stdout, stderr: process.stderr });
}

/** Puts the terminal into raw mode and forwards changes of its size. Disposing restores the terminal. */
function rawTerminal(socket: WebSocket): Disposable {
  const resize = () => sendResize(socket, process.stdout.columns, process.stdout.rows);
  process.stdin.setRawMode(true);
  process.stdout.on("resize", resize);
  resize();
  return {
    [Symbol.dispose]() {
      process.stdout.off("resize", resize);
      process.stdin.setRawMode(false);
    },
  };
}
