import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { PassThrough } from "node:stream";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { missingProgramCode, runExec } from "./exec-channel.ts";
import { openExec } from "./open-exec.ts";
import type { SandboxPod } from "./sandbox-pod.ts";
import { endedCode } from "./session-end.ts";
import { killWords, noProcessIdCode, withProcessId } from "./signal-scripts.ts";

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
type Forwarded = (typeof forwarded)[number];

export interface SignalTarget {
  readonly connection: Connection;
  readonly pod: SandboxPod;
  /** Whether the sandbox is deleted when the command has ended. */
  readonly isDeleted: boolean;
}

/** After this many signals the command is left behind. */
const patience = 3;

/**
 * Passes the signals that this program receives to a command in a sandbox. The exec protocol has no signals, so the command first writes
 * its process id to a file, and a second command sends the signal. If that is not possible, as in an image without a shell, the signal ends
 * this program, and the command is left behind.
 */
export class SignalForwarder implements AsyncDisposable {
  readonly #interrupted = new AbortController();
  #send: ((signal: Forwarded) => void) | undefined;
  #received = 0;

  constructor() {
    for (const name of forwarded) process.on(name, this.#receive);
  }

  /** Aborted by a signal that arrives while no command receives it. */
  get interrupted(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** Runs a command that receives the signals. Removes the file with its process id, unless the sandbox is deleted afterwards. */
  async during(
    { connection, pod, isDeleted }: SignalTarget,
    words: readonly string[],
    start: (words: readonly string[]) => Promise<number>,
  ): Promise<number> {
    const file = `/tmp/.agent-sandbox-${randomBytes(6).toString("hex")}`;
    const given = Promise.withResolvers<never>();
    given.promise.catch(() => undefined);
    this.#send = (signal) => {
      this.#received += 1;
      const giveUp = (): void => given.reject(endedBy(signal));
      if (this.#received >= patience) giveUp();
      void isDelivered(connection, pod, killWords(file, signal.slice(3))).then((is) => is || giveUp());
    };
    try {
      const code = await Promise.race([start(withProcessId(file, words)), given.promise]);
      this.#send = undefined;
      // A command in a sandbox that has gone to sleep would wake it.
      if (!isDeleted && code !== endedCode)
        await runQuietly(connection, pod, ["rm", "-f", file]).catch(() => undefined);
      return code;
    } catch (error) {
      // Nothing was started: the image has no shell.
      if (error instanceof CommandError && error.exitCode === missingProgramCode)
        return await Promise.race([start(words), given.promise]);
      throw error;
    } finally {
      this.#send = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of forwarded) process.off(name, this.#receive);
  }

  readonly #receive = (signal: NodeJS.Signals): void => {
    if (this.#send !== undefined) this.#send(signal as Forwarded);
    else this.#interrupted.abort(endedBy(signal));
  };
}

const endedBy = (signal: NodeJS.Signals): CommandError =>
  new CommandError(`ended by ${signal}`, { exitCode: 128 + constants.signals[signal] });

/** False if no signal can reach the command. True if it has just ended or the connection is lost: the session of the command reports that. */
async function isDelivered(connection: Connection, pod: SandboxPod, words: readonly string[]): Promise<boolean> {
  try {
    return (await runQuietly(connection, pod, words)) !== noProcessIdCode;
  } catch (error) {
    return !(error instanceof CommandError && error.exitCode === missingProgramCode);
  }
}

/** Returns the exit code. */
async function runQuietly(connection: Connection, pod: SandboxPod, words: readonly string[]): Promise<number> {
  const nowhere = new PassThrough().resume();
  const socket = await openExec(connection, pod, { words });
  // Longer than the script waits for the process id.
  using _limit = disposableTimeout(() => socket.terminate(), quietMs);
  return await runExec(socket, { stdin: undefined, stdout: nowhere, stderr: nowhere });
}

const quietMs = 20_000;

function disposableTimeout(act: () => void, ms: number): Disposable {
  const timer = setTimeout(act, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
