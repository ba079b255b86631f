import { type CallOptions, Deadline } from "../deadline.ts";
import { isSandboxError, SandboxError } from "../errors.ts";
import { bytesOf, decodeBase64, encodeBase64 } from "../http/base64.ts";
import { ConnectionLost } from "../http/exchange.ts";
import { type Operation, operate } from "../telemetry/operation.ts";
import type { TraceHeaders } from "../telemetry/tracing.ts";
import type { Router, Target } from "./router.ts";
import { callStream, callUnary } from "./rpc.ts";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface Output {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  readonly bytes: Uint8Array;
}

export interface Exit {
  /** -1 if a signal ended the process. */
  readonly exitCode: number;
  readonly signal?: number;
  readonly timedOut: boolean;
}

export interface ProcessInfo {
  readonly id: number;
  readonly pid: number;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly startedAt: Date;
  /** Set if the process has ended. */
  readonly exit?: Exit;
}

/** The names that `kill -l` prints, with `SIG`. */
export type SignalName = `SIG${string}`;

export interface ProcessConnection {
  readonly router: Router;
  readonly target: Target;
  readonly doing: string;
  readonly signal?: AbortSignal | undefined;
  /** Of the operation that opened the connection. */
  readonly trace: TraceHeaders;
  /** Whether all calls of the process are parts of that operation. */
  readonly isPart?: boolean;
}

interface Opening {
  readonly method: "Start" | "Attach";
  readonly message: object;
}

interface Event {
  readonly init?: { readonly processId: number };
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exit?: ExitMessage;
  readonly gap?: { readonly lostBytes: string };
  readonly offset?: string;
}

interface ExitMessage {
  readonly exitCode?: number;
  readonly signal?: number;
  readonly timedOut?: boolean;
}

const defaultTimeoutMs = 60_000;

/** How long the router or the box may be away until a stream is given up. */
const reconnectMs = 60_000;

/**
 * A process in a sandbox. Its output continues after a lost connection, without a gap unless more than 256 KiB were written in the
 * meantime. Disposing it kills the process.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * await using calculator = await sandbox.commands.start(["python3", "-u", "-c", "print(2 ** int(input()))"]);
 * await calculator.write("10\n");
 * let answer = "";
 * for await (const { text } of calculator.output()) answer += text;
 * const { exitCode } = await calculator.wait();
 * console.log(answer.trim(), exitCode);
 * // Output: 1024 0
 * ```
 */
export class Process implements AsyncDisposable {
  readonly id: number;
  readonly #connection: ProcessConnection;
  readonly #closing: AbortController;
  #events: AsyncGenerator<Event>;
  /** Of the next byte of output. */
  #offset = 0;
  #exit: Exit | undefined;

  private constructor(
    id: number,
    connection: ProcessConnection,
    stream: { events: AsyncGenerator<Event>; closing: AbortController },
  ) {
    this.id = id;
    this.#connection = connection;
    this.#events = stream.events;
    this.#closing = stream.closing;
  }

  /** Starts a process or attaches to one. */
  static async open(connection: ProcessConnection, opening: Opening): Promise<Process> {
    const closing = new AbortController();
    const signal =
      connection.signal === undefined ? closing.signal : AbortSignal.any([connection.signal, closing.signal]);
    const open = { ...connection, signal };
    const events = streamOf(open, opening);
    const first = await events.next();
    const id = first.done === true ? undefined : first.value.init?.processId;
    if (id === undefined) throw new SandboxError("Internal", `${connection.doing}: the sandbox sent no process id`);
    return new Process(id, open, { events, closing });
  }

  /** The offset of the next byte of output, for `commands.attach`. */
  get offset(): number {
    return this.#offset;
  }

  /** The output until the process ends. Can be iterated once. */
  async *output(): AsyncGenerator<Output> {
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    for await (const event of this.#read()) {
      const stream = event.stdout === undefined ? "stderr" : "stdout";
      const bytes = decodeBase64(event[stream] ?? "");
      yield { stream, bytes, text: decoders[stream].decode(bytes, { stream: true }) };
    }
  }

  /** Waits until the process has ended. */
  async wait({ signal }: Pick<CallOptions, "signal"> = {}): Promise<Exit> {
    if (this.#exit !== undefined) return this.#exit;
    const doing = `Cannot wait for process ${this.id}`;
    const limits = { options: { timeoutMs: Number.POSITIVE_INFINITY, signal }, defaultMs: 0 };
    return this.#operate({ name: "process.wait", doing, ...limits }, async (deadline) => {
      const call = { doing, deadline, method: "Wait", message: { processId: this.id }, isRepeatable: true };
      const { exit = {} } = await this.#unary<{ exit?: ExitMessage }>(call);
      this.#exit = exitOf(exit);
      return this.#exit;
    });
  }

  /** Writes to the standard input. Repeated after a lost connection only if the sandbox has not received it. */
  write(data: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    return this.#call("WriteStdin", { input: encodeBase64(bytesOf(data)) }, { ...options, isRepeatable: false });
  }

  /** Closes the standard input. On a terminal, this types the end-of-transmission character. */
  closeInput(options: CallOptions = {}): Promise<void> {
    return this.#call("WriteStdin", { eof: {} }, { ...options, isRepeatable: false });
  }

  /** Sends a signal to the process and all its descendants. */
  async kill(signal: SignalName = "SIGKILL", options: CallOptions = {}): Promise<void> {
    const message = { signal: `SIGNAL_${signal}`, scope: "SIGNAL_SCOPE_TREE" };
    await this.#call("SendSignal", message, { ...options, isRepeatable: signal === "SIGKILL" });
  }

  resize({ cols, rows }: TerminalSize, options: CallOptions = {}): Promise<void> {
    return this.#call("ResizeTTY", { cols, rows }, { ...options, isRepeatable: true });
  }

  /** Ends the stream of output. The process goes on as `keepRunningMs` says. */
  async disconnect(): Promise<void> {
    this.#closing.abort(
      new SandboxError("Conflict", `Cannot read the output of process ${this.id}: it was disconnected`),
    );
    await this.#events.return(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#exit === undefined) {
      await this.kill().catch((error: unknown) => {
        if (!isSandboxError(error, "NotFound") && !isSandboxError(error, "Conflict")) throw error;
      });
    }
    await this.disconnect();
  }

  /** Output events. Reads on after a lost connection. */
  async *#read(): AsyncGenerator<Event> {
    for (;;) {
      try {
        for await (const event of this.#events) {
          if (event.offset !== undefined) this.#offset = Number(event.offset);
          if (event.exit !== undefined) this.#exit = exitOf(event.exit);
          else if (event.stdout !== undefined || event.stderr !== undefined) yield event;
        }
        return;
      } catch (error) {
        if (!isLost(error)) throw error;
      }
      const message = { processId: this.id, fromOffset: String(this.#offset) };
      this.#events = streamOf(this.#connection, { method: "Attach", message });
    }
  }

  async #call(
    method: keyof typeof operations,
    message: object,
    { isRepeatable, ...options }: CallOptions & { isRepeatable: boolean },
  ): Promise<void> {
    const doing = `Cannot reach process ${this.id}`;
    const operation = { name: `process.${operations[method]}`, doing, options, defaultMs: defaultTimeoutMs };
    await this.#operate(operation, (deadline) =>
      this.#unary({ doing, deadline, method, message: { processId: this.id, ...message }, isRepeatable }),
    );
  }

  #operate<T>(operation: Omit<Operation, "sandbox">, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const { router, target, trace, isPart = false } = this.#connection;
    return operate(router.tracing, { ...operation, sandbox: target, within: isPart ? trace : undefined }, work);
  }

  #unary<T>(call: Parameters<typeof callUnary>[2]): Promise<T> {
    return callUnary<T>(this.#connection.router, this.#connection.target, call);
  }
}

/** The names of the calls in traces. */
const operations = { WriteStdin: "write", SendSignal: "kill", ResizeTTY: "resize" } as const;

async function* streamOf(
  { router, target, doing, signal, trace }: ProcessConnection,
  { method, message }: Opening,
): AsyncGenerator<Event> {
  using deadline = new Deadline({ signal, headers: trace }, reconnectMs, doing);
  yield* callStream<Event>(router, target, { doing, deadline, method, message, isRepeatable: true });
}

/** The connection was lost, or the router gave up on a process that wrote nothing. */
function isLost(error: unknown): boolean {
  return error instanceof ConnectionLost || (isSandboxError(error) && error.serverReason === "unavailable");
}

function exitOf({ exitCode = 0, signal, timedOut = false }: ExitMessage): Exit {
  return signal === undefined ? { exitCode, timedOut } : { exitCode, signal, timedOut };
}

interface ListResponse {
  readonly processes?: readonly {
    readonly processId: number;
    readonly pid?: number;
    readonly command?: readonly string[];
    readonly cwd?: string;
    readonly startedAt?: string;
    readonly exit?: ExitMessage;
  }[];
}

export function parseProcesses({ processes = [] }: ListResponse): ProcessInfo[] {
  return processes.map(({ processId, pid = 0, command = [], cwd = "", startedAt = "", exit }) => {
    const info = { id: processId, pid, command, cwd, startedAt: new Date(startedAt) };
    return exit === undefined ? info : { ...info, exit: exitOf(exit) };
  });
}
