import type { CallOptions, Deadline } from "../deadline.ts";
import { isSandboxError, SandboxError } from "../errors.ts";
import { bytesOf, decodeBase64, encodeBase64 } from "../http/base64.ts";
import { requestId } from "../request-id.ts";
import { type Operation, operate } from "../telemetry/operation.ts";
import { Process, type ProcessConnection, type ProcessInfo, parseProcesses, type TerminalSize } from "./process.ts";
import type { Router, Target } from "./router.ts";
import { callUnary } from "./rpc.ts";

/** A text is a script for `/bin/sh`. A list is a program and its arguments, which no shell sees. */
export type Command = string | readonly string[];

export interface CommandOptions extends CallOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A name, `uid` or `uid:gid`. Default: the user of the container. */
  readonly user?: string;
}

export interface RunOptions extends CommandOptions {
  /** Default: no input. */
  readonly stdin?: string | Uint8Array;
  /** Output beyond this size is dropped, and `truncated` is set. Without it, more than 64 MiB are an error. */
  readonly maxOutputBytes?: number;
  /** Called with each piece of output as soon as it arrives. */
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
}

export interface StartOptions extends CommandOptions {
  /** Gives the process a terminal. Its output is then all `stdout`. */
  readonly terminal?: TerminalSize;
  /**
   * How long the process runs without a connection before it is killed. Default: ten seconds, so that it ends with this program.
   * With `Infinity` it goes on until it ends by itself.
   */
  readonly keepRunningMs?: number;
}

export interface CommandResult {
  /** -1 if a signal ended the command. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The number of the signal that ended the command. */
  readonly signal?: number;
  /** The command was killed because of `timeoutMs`. The output is what it had written. */
  readonly timedOut: boolean;
  readonly truncated: boolean;
}

const defaultTimeoutMs = 60_000;

/** The server needs time to report that it killed a command. */
const graceMs = 15_000;

/**
 * Runs programs in a sandbox.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * const { exitCode, stderr } = await sandbox.commands.run(["ls", "/missing"], { timeoutMs: 10_000, env: { LC_ALL: "C" } });
 * console.log(exitCode, stderr.includes("No such file"));
 * // Output: 2 true
 * ```
 */
export class Commands {
  readonly #router: Router;
  readonly #target: Target;

  constructor(router: Router, target: Target) {
    this.#router = router;
    this.#target = target;
  }

  /** Runs a command until it ends. An exit code other than 0 is a result, not an error. Default timeout: one minute. */
  run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    if (options.onStdout !== undefined || options.onStderr !== undefined) return this.#stream(command, options);
    const { timeoutMs = defaultTimeoutMs, stdin, maxOutputBytes, signal } = options;
    const doing = `Cannot run ${describe(command)}`;
    const limits = { options: { timeoutMs: timeoutMs + graceMs, signal }, defaultMs: 0 };
    return this.#operate({ name: "commands.run", doing, ...limits }, async (deadline) => {
      const message = {
        config: configOf(command, options, timeoutMs),
        requestId: requestId(),
        ...(stdin !== undefined && { stdin: encodeBase64(bytesOf(stdin)) }),
        ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      };
      const call = { doing, deadline, method: "Execute", message, isRepeatable: true };
      return resultOf(await callUnary<ExecuteResponse>(this.#router, this.#target, call));
    });
  }

  /** Starts a program and returns while it runs. `timeoutMs` limits its life. */
  start(command: Command, options: StartOptions = {}): Promise<Process> {
    const doing = `Cannot start ${describe(command)}`;
    const { signal } = options;
    const operation = { name: "commands.start", doing, options: { signal }, defaultMs: defaultTimeoutMs };
    return this.#operate(operation, ({ headers: trace }) => this.#start(command, options, { doing, trace }));
  }

  /** Connects to a process that `start` has started, also from another program. Its kept output (256 KiB) is sent again. */
  attach(
    id: number,
    { fromOffset, signal }: { readonly fromOffset?: number } & Pick<CallOptions, "signal"> = {},
  ): Promise<Process> {
    const message = { processId: id, ...(fromOffset !== undefined && { fromOffset: String(fromOffset) }) };
    const doing = `Cannot attach to process ${id}`;
    const operation = { name: "commands.attach", doing, options: { signal }, defaultMs: defaultTimeoutMs };
    return this.#operate(operation, ({ headers: trace }) =>
      Process.open({ router: this.#router, target: this.#target, doing, signal, trace }, { method: "Attach", message }),
    );
  }

  /** Running processes, and processes of `start` that have ended recently. */
  list(options: CallOptions = {}): Promise<ProcessInfo[]> {
    const doing = "Cannot list the processes";
    const operation = { name: "commands.list", doing, options, defaultMs: defaultTimeoutMs };
    return this.#operate(operation, async (deadline) => {
      const call = { doing, deadline, method: "List", message: {}, isRepeatable: true };
      return parseProcesses(await callUnary(this.#router, this.#target, call));
    });
  }

  #start(
    command: Command,
    { terminal, keepRunningMs = 10_000, timeoutMs, signal, ...options }: StartOptions,
    place: Pick<ProcessConnection, "doing" | "trace" | "isPart">,
  ): Promise<Process> {
    const message = {
      config: configOf(command, options, timeoutMs),
      detach: true,
      requestId: requestId(),
      ...(terminal !== undefined && { pty: terminal }),
      ...(Number.isFinite(keepRunningMs) && { abandonAfter: durationOf(keepRunningMs) }),
    };
    const connection = { router: this.#router, target: this.#target, signal, ...place };
    return Process.open(connection, { method: "Start", message });
  }

  #stream(command: Command, options: RunOptions): Promise<CommandResult> {
    const { timeoutMs = defaultTimeoutMs, stdin, maxOutputBytes = Number.POSITIVE_INFINITY } = options;
    const { signal: cancel, onStdout, onStderr } = options;
    const doing = `Cannot run ${describe(command)}`;
    const limits = { options: { timeoutMs: Number.POSITIVE_INFINITY, signal: cancel }, defaultMs: 0 };
    return this.#operate({ name: "commands.run", doing, ...limits }, async ({ headers: trace }) => {
      await using process = await this.#start(command, { ...options, timeoutMs }, { doing, trace, isPart: true });
      if (stdin !== undefined) await process.write(stdin).catch(ifEnded);
      await process.closeInput().catch(ifEnded);
      const kept = { stdout: "", stderr: "" };
      let size = 0;
      for await (const { stream, text } of process.output()) {
        (stream === "stdout" ? onStdout : onStderr)?.(text);
        if (size < maxOutputBytes) kept[stream] += text;
        size += text.length;
      }
      const { exitCode, signal, timedOut } = await process.wait();
      return { ...kept, exitCode, timedOut, truncated: size > maxOutputBytes, ...(signal !== undefined && { signal }) };
    });
  }

  #operate<T>(operation: Omit<Operation, "sandbox">, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    return operate(this.#router.tracing, { ...operation, sandbox: this.#target }, work);
  }
}

/** A command need not read its input, and may have ended. The runtime then reports that its pipe is closed. */
function ifEnded(error: unknown): void {
  const isEnded = isSandboxError(error) && ["Conflict", "NotFound", "Internal"].includes(error.reason);
  if (!isEnded) throw error;
}

interface ExecuteResponse {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly signal?: number;
  readonly timedOut?: boolean;
  readonly truncated?: boolean;
}

function resultOf({
  exitCode = 0,
  stdout = "",
  stderr = "",
  signal,
  timedOut = false,
  truncated = false,
}: ExecuteResponse): CommandResult {
  const text = (base64: string): string => new TextDecoder().decode(decodeBase64(base64));
  const base = { exitCode, stdout: text(stdout), stderr: text(stderr), timedOut, truncated };
  return signal === undefined ? base : { ...base, signal };
}

function configOf(command: Command, { cwd, env, user }: CommandOptions, timeoutMs: number | undefined): object {
  if (command.length === 0) throw new SandboxError("InvalidArgument", "Cannot run an empty command");
  return {
    ...(typeof command === "string" ? { shell: command } : { command }),
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { envVars: env }),
    ...(user !== undefined && { user }),
    ...(timeoutMs !== undefined && Number.isFinite(timeoutMs) && { timeout: durationOf(timeoutMs) }),
  };
}

/** A duration in the JSON form of protobuf. */
function durationOf(ms: number): string {
  return `${(ms / 1000).toFixed(3)}s`;
}

/** Arguments may be secret, so errors contain only the program. */
function describe(command: Command): string {
  return typeof command === "string" ? "the command" : `"${command[0] ?? ""}"`;
}
