import type { Socket } from "node:net";
import { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ExecSession } from "@agent-sandbox/kube";
import { spawn as spawnTerminal } from "@lydell/node-pty";
import { signalProcess } from "../system/processes.ts";
import { startProgram } from "../system/start-program.ts";

/** A command line of the runtime that is attached to our side of the streams. */
export interface AttachedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly stdin: boolean;
}

/** A running command line. `kill` ends the runtime's own process only. */
export interface AttachedProcess extends ExecSession {
  readonly pid: number;
  /** Settles when the process is gone, read or unread. */
  readonly ended: Promise<void>;
}

/** What a shell gives for a process that was killed. */
const killedCode = 137;
const endOfTransmission = "\x04";

/** With three pipes. */
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
    ended: started.ended.then(() => undefined),
    resize: () => undefined,
    kill: () => {
      signalProcess(started.pid, "SIGKILL");
      for (const stream of [stdout, stderr]) stream.destroy();
    },
  };
}

/** With a terminal, which carries both outputs. */
export function attachTerminal({ program, args, stdin }: AttachedCommand): AttachedProcess {
  const terminal = spawnTerminal(program, [...args], { name: "xterm", cols: 80, rows: 24, encoding: null });
  const stdout = new Readable({ read: () => terminal.resume() });
  // With no encoding the chunks are bytes, whatever the declaration says.
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
    ended: closed.then(() => undefined),
    resize: (columns, rows) => terminal.resize(columns, rows),
    kill: () => {
      terminal.kill("SIGKILL");
      stdout.destroy();
    },
  };
}

/** A destroyed output has ended, too: nobody wants the rest of it. */
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
