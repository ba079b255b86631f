import { trackedPodName } from "@agent-sandbox/api";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { createSandbox, untilReady } from "../client/create-sandbox.ts";
import type { NewSandboxOptions } from "../client/new-sandbox.ts";
import { leaseMs, Removal, shutdownIn } from "../client/removal.ts";
import { SignalForwarder } from "../client/signals.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { runInPod } from "./exec.ts";
import { interactiveShell } from "./shell.ts";

export interface RunOptions extends GlobalOptions, NewSandboxOptions {
  readonly rm?: boolean;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly timeout: string;
}

/** Creates a sandbox and runs one command in it. The exit code is that of the command. */
export async function run(words: readonly string[], options: RunOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout);
  const interactive = options.tty === true && process.stdin.isTTY;
  if (words.length === 0 && !interactive) {
    throw new CommandError('name a command, as in "agent-sandbox run -- python3 -V", or use -it for a shell');
  }
  await using signals = new SignalForwarder();
  await using connection = await connect(options);
  // If this program is killed, the server deletes the sandbox.
  const lease = options.rm === true ? { shutdownTime: shutdownIn(timeoutMs + leaseMs) } : {};
  const created = await createSandbox(connection, { ...options, ...lease });
  const name = created.metadata.name ?? "";
  // A sandbox in which nothing was run is deleted too.
  await using removal = new Removal(connection, created.metadata);
  await untilReady(connection, name, { timeoutMs, interrupted: signals.interrupted });
  if (options.rm === true) removal.renewLease();
  else {
    removal.cancel();
    console.error(`sandbox "${name}" is ready; delete it with: agent-sandbox delete sandbox/${name}`);
  }
  const pod = { name: trackedPodName(created), isAsleep: false };
  const command = words.length === 0 ? interactiveShell : words;
  const start = (wrapped: readonly string[]): Promise<number> => runInPod(connection, pod, wrapped, options);
  // A terminal sends its signals itself.
  process.exitCode = interactive
    ? await untilInterrupted(start(command), signals.interrupted)
    : await signals.during(connection, pod, command, start);
}

/** A lost terminal ends the session. */
async function untilInterrupted<T>(session: Promise<T>, interrupted: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  interrupted.addEventListener("abort", () => reject(interrupted.reason as Error), { once: true });
  return Promise.race([session, promise]);
}
