import { isatty } from "node:tty";
import type { WebSocket } from "ws";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { execProtocol, runExec, sendResize } from "../client/exec-channel.ts";
import { openSocket } from "../client/pod-socket.ts";
import { podOf, podPath, type SandboxPod, sessionError } from "../client/sandbox-pod.ts";

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
  const query = new URLSearchParams({ stdout: "true", stderr: String(!tty), stdin: String(options.stdin === true) });
  query.set("tty", String(tty));
  if (options.container !== undefined) query.set("container", options.container);
  for (const word of words) query.append("command", word);
  const path = `${podPath(connection.namespace, pod.name, "exec")}?${query.toString()}`;
  const socket = await openSocket(connection.access, path, execProtocol).catch((error: unknown) => {
    throw sessionError(error, pod);
  });
  using _terminal = tty ? rawTerminal(socket) : undefined;
  const stdin = options.stdin === true ? process.stdin : undefined;
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
