import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { PassThrough } from "node:stream";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { missingProgramCode, runExec } from "./exec-channel.ts";
import { openExec } from "./open-exec.ts";
import type { SandboxPod } from "./sandbox-pod.ts";

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
type Forwarded = (typeof forwarded)[number];

/** After this many signals the command is left behind. */
const patience = 3;

/**
 * Passes the signals that this program receives to a command in a sandbox. The exec protocol has no signals, so the command first writes
 * its process id to a file, and a second command sends the signal. An image without a shell gets no signals.
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

  /** Runs a command that receives the signals. */
  async during(
    connection: Connection,
    pod: SandboxPod,
    words: readonly string[],
    start: (words: readonly string[]) => Promise<number>,
  ): Promise<number> {
    const file = `/tmp/.agent-sandbox-${randomBytes(6).toString("hex")}`;
    const given = Promise.withResolvers<never>();
    given.promise.catch(() => undefined);
    this.#send = (signal) => {
      this.#received += 1;
      const number = constants.signals[signal];
      if (this.#received >= patience) given.reject(new CommandError(`ended by ${signal}`, { exitCode: 128 + number }));
      const script = `kill -s ${signal.slice(3)} "$(cat ${file})"`;
      void runQuietly(connection, pod, ["sh", "-c", script]).catch(() => undefined);
    };
    const wrapper = `{ echo $$ > ${file}; } 2>/dev/null; exec "$@"`;
    try {
      return await Promise.race([start(["sh", "-c", wrapper, "sh", ...words]), given.promise]);
    } catch (error) {
      // Nothing was started: the image has no shell.
      if (error instanceof CommandError && error.exitCode === missingProgramCode) return await start(words);
      throw error;
    } finally {
      this.#send = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of forwarded) process.off(name, this.#receive);
  }

  readonly #receive = (signal: NodeJS.Signals): void => {
    const exitCode = 128 + constants.signals[signal];
    if (this.#send !== undefined) this.#send(signal as Forwarded);
    else this.#interrupted.abort(new CommandError(`ended by ${signal}`, { exitCode }));
  };
}

async function runQuietly(connection: Connection, pod: SandboxPod, words: readonly string[]): Promise<void> {
  const nowhere = new PassThrough().resume();
  const socket = await openExec(connection, pod, { words });
  await runExec(socket, { stdin: undefined, stdout: nowhere, stderr: nowhere });
}
