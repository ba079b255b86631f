import { trackedPodName } from "@agent-sandbox/api";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { createSandbox } from "../client/create-sandbox.ts";
import type { NewSandboxOptions } from "../client/new-sandbox.ts";
import { loadSockets } from "../client/pod-socket.ts";
import { parsePublished, publishPorts } from "../client/published-ports.ts";
import { expiringSandbox, leaseMs, Removal, shutdownIn } from "../client/removal.ts";
import { SignalForwarder } from "../client/signals.ts";
import { untilRunning } from "../client/until-running.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { runInPod } from "./exec.ts";
import { interactiveShell } from "./shell.ts";

/** The options of commands that run a command in a new sandbox. */
export interface SessionOptions {
  readonly rm?: boolean;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly timeout: string;
}

export interface RunOptions extends GlobalOptions, NewSandboxOptions, SessionOptions {}

/** Creates a sandbox and runs one command in it. The exit code is that of the command. */
export async function run(words: readonly string[], options: RunOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  if (words.length === 0 && !opensShell(options)) {
    throw new CommandError('name a command, as in "agent-sandbox run -- python3 -V", or use -it for a shell');
  }
  await using signals = new SignalForwarder();
  await using connection = await connect(options);
  // If this program is killed, the server deletes the sandbox.
  const lease = options.rm === true ? expiringSandbox.expiry(shutdownIn(timeoutMs + leaseMs)) : {};
  const created = await createSandbox(connection, options, lease);
  // The server starts the container meanwhile.
  void loadSockets();
  const name = created.metadata.name ?? "";
  // A sandbox in which nothing was run is deleted too.
  await using removal = new Removal(connection, expiringSandbox, created);
  const pod = trackedPodName(created);
  await untilRunning(connection, { name, pod }, { timeoutMs, interrupted: signals.interrupted });
  await using _ports = await publishPorts(connection, { name, pod }, (options.publish ?? []).map(parsePublished));
  if (options.rm === true) removal.renewLease();
  else {
    removal.cancel();
    console.error(`sandbox "${name}" is ready; delete it with: agent-sandbox delete sandbox/${name}`);
  }
  process.exitCode = await runSession({ connection, signals, pod }, words, options);
}

/** Whether a shell is run if no command is named: it reads its commands from the standard input. */
export function opensShell(options: SessionOptions): boolean {
  return options.stdin === true || isInteractive(options);
}

function isInteractive({ tty }: SessionOptions): boolean {
  return tty === true && process.stdin.isTTY;
}

/** Runs a command, or a shell, with the streams of this program and the signals that it receives. Returns its exit code. */
export async function runSession(
  { connection, signals, pod: name }: { connection: Connection; signals: SignalForwarder; pod: string },
  words: readonly string[],
  options: SessionOptions,
): Promise<number> {
  const pod = { name, isAsleep: false };
  const command = words.length === 0 ? interactiveShell : words;
  const start = (wrapped: readonly string[]): Promise<number> => runInPod(connection, pod, wrapped, options);
  // A terminal sends its signals itself.
  return isInteractive(options)
    ? await untilInterrupted(start(command), signals.interrupted)
    : await signals.during({ connection, pod, isDeleted: options.rm === true }, command, start);
}

/** A lost terminal ends the session. */
async function untilInterrupted<T>(session: Promise<T>, interrupted: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  interrupted.addEventListener("abort", () => reject(interrupted.reason as Error), { once: true });
  return Promise.race([session, promise]);
}
