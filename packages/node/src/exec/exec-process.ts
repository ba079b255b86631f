import type { Socket } from "node:net";
import { PassThrough, Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ExecSession } from "@agent-sandbox/kube";
import { spawn as spawnTerminal } from "@lydell/node-pty";
import { messageOf } from "../errors.ts";
import type { SandboxProcess } from "../runtime/oci-runtime.ts";
import { signalProcess } from "../system/processes.ts";
import { startProgram } from "../system/start-program.ts";

/** A command of the runtime, for example `runc exec`, whose streams the node uses. */
export interface AttachedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly stdin: boolean;
}

/** A running command. `kill` ends only the runtime's own process, or the wait for a command that has none. */
export interface AttachedProcess extends ExecSession {
  /** Absent if the runtime has no process for the command. */
  readonly pid?: number;
  /** Resolves when the process has ended, even if its output has not been read. */
  readonly ended: Promise<Exit>;
}

export type Exit = Awaited<ExecSession["exit"]>;

/** 128 + SIGKILL, as shells report it. */
const killedCode = 137;
/** The exit code of runsc for its own errors. */
export const runtimeError = 128;
/** The start of the line that runsc prints if the sandbox ends while a command runs in it. */
export const lostSandbox = "waiting on pid ";
const endOfTransmission = "\x04";

/** Starts a command with pipes as its streams. */
export function attachPipes({ program, args, stdin }: AttachedCommand): AttachedProcess {
  const started = startProgram(program, args, { stdio: [stdin ? "pipe" : "ignore", "pipe", "pipe"] });
  const [input, stdout, stderr] = started.stdio as readonly [Socket | undefined, Socket, Socket];
  const closed = started.ended.then(({ code, signal }) => ({ code: code ?? killedCode, ...(signal && { signal }) }));
  return {
    pid: started.pid,
    stdin: input ?? closedInput(),
    stdout,
    stderr,
    exit: afterOutputs(closed, stdout, stderr),
    ended: closed,
    resize: () => undefined,
    kill: () => {
      signalProcess(started.pid, "SIGKILL");
      for (const stream of [stdout, stderr]) stream.destroy();
    },
  };
}

/**
 * Follows a command that runs in a sandbox. If the sandbox ends before the command, stderr says so in the words of runsc, which
 * `explainOutOfMemory` recognises.
 */
export function followSandbox({ stdin, stdout, stderr: errors, wait }: SandboxProcess): AttachedProcess {
  const stopping = new AbortController();
  const stderr = new PassThrough();
  let lastLine = "";
  const ended = wait(stopping.signal).then(
    (code) => ({ code }),
    (error: unknown) => {
      if (stopping.signal.aborted) return { code: killedCode };
      lastLine = `${lostSandbox}of the sandbox: ${messageOf(error)}\n`;
      return { code: runtimeError };
    },
  );
  errors.pipe(stderr, { end: false });
  void afterOutputs(ended, errors).then(() => stderr.end(lastLine));
  return {
    stdin: stdin ?? closedInput(),
    stdout,
    stderr,
    exit: afterOutputs(ended, stdout, stderr),
    ended,
    resize: () => undefined,
    kill: () => {
      stopping.abort();
      for (const stream of [stdout, errors, stderr]) stream.destroy();
    },
  };
}

/** Starts a command on a terminal, which carries both stdout and stderr. */
export function attachTerminal({ program, args, stdin }: AttachedCommand): AttachedProcess {
  const terminal = spawnTerminal(program, [...args], { name: "xterm", cols: 80, rows: 24, encoding: null });
  const stdout = new Readable({ read: () => terminal.resume() });
  // With `encoding: null` the chunks are Buffers, although they are declared as strings.
  terminal.onData((chunk: unknown) => {
    if (!stdout.push(chunk)) terminal.pause();
  });
  const closed = new Promise<{ code: number }>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      stdout.push(null);
      resolve({ code: signal ? 128 + signal : exitCode });
    });
  });
  const stderr = Readable.from([]);
  return {
    pid: terminal.pid,
    stdin: stdin ? terminalInput(terminal) : closedInput(),
    stdout,
    stderr,
    exit: afterOutputs(closed, stdout),
    ended: closed,
    resize: (columns, rows) => terminal.resize(columns, rows),
    kill: () => {
      terminal.kill("SIGKILL");
      stdout.destroy();
    },
  };
}

/** Waits for the outputs to end. A destroyed output counts as ended. */
async function afterOutputs<T>(closed: Promise<T>, ...outputs: readonly Readable[]): Promise<T> {
  const [result] = await Promise.all([closed, ...outputs.map((output) => finished(output).catch(() => undefined))]);
  return result;
}

function terminalInput(terminal: { write(data: Buffer | string): void }): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      terminal.write(chunk);
      done();
    },
    final: (done) => {
      terminal.write(endOfTransmission);
      done();
    },
  });
}

function closedInput(): Writable {
  const input = new Writable({ write: (_chunk, _encoding, done) => done() });
  input.end();
  return input;
}
