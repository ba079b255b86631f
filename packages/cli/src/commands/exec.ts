import type { Readable } from "node:stream";
import { isatty } from "node:tty";
import type { WebSocket } from "ws";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { runExec, sendResize } from "../client/exec-channel.ts";
import { openExec } from "../client/open-exec.ts";
import { loadSockets } from "../client/pod-socket.ts";
import { podOf, type SandboxPod } from "../client/sandbox-pod.ts";
import { endedCode, Session } from "../client/session-end.ts";

export interface ExecOptions extends GlobalOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
}

export async function exec(sandbox: string, words: readonly string[], options: ExecOptions): Promise<void> {
  await using connection = await connect(options);
  const [pod] = await Promise.all([podOf(connection, sandbox, { wakes: true }), loadSockets()]);
  process.exitCode = await runInPod(connection, pod, words, options);
}

/**
 * Runs a command with the streams of this program. Returns its exit code. If the sandbox ended the command, says so on stderr and
 * returns 137.
 */
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
  using session = new Session(connection, pod);
  session.follow(socket);
  let code: number;
  try {
    code = await runAttached(socket, isOpen ? process.stdin : undefined, tty);
  } catch (error) {
    // A lost connection, or a server that ended the session.
    const why = await session.why(" while the command ran");
    if (why === undefined) throw error;
    console.error(why);
    return endedCode;
  }
  const why = await session.whyKilled(code);
  if (why !== undefined) console.error(why);
  return code;
}

/** The terminal is restored when this returns, so that messages can be printed. */
async function runAttached(socket: WebSocket, stdin: Readable | undefined, tty: boolean): Promise<number> {
  using _terminal = tty ? rawTerminal(socket) : undefined;
  return await runExec(socket, { stdin, stdout: process.stdout, stderr: process.stderr });
}

/** Puts the terminal into raw mode and forwards changes of its size. Disposing restores the terminal. */
function rawTerminal(socket: WebSocket): Disposable {
  const resize = () => sendResize(socket, process.stdout.columns, process.stdout.rows);
  process.stdin.setRawMode(true);
  // In Node's raw mode, a terminal begins a new line for each "\n". Programs that draw on the screen use it to move down.
  process
    .getBuiltinModule("node:child_process")
    .spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
  process.stdout.on("resize", resize);
  resize();
  return {
    [Symbol.dispose]() {
      process.stdout.off("resize", resize);
      process.stdin.setRawMode(false);
    },
  };
}
