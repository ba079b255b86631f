import { RpcError } from "../../connect/rpc-error.ts";
import { callProcess, type ExitEvent, type ProcessEvent, streamProcess } from "../../runtime/process-calls.ts";
import type { ExecdCall } from "./context.ts";
import { EventWriter } from "./event-writer.ts";
import { invalidRequest } from "./execd-error.ts";
import { OutputLines } from "./output-lines.ts";

export interface ProcessSpec {
  /** The first one whose program exists is started. */
  readonly commands: readonly (readonly string[])[];
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly timeoutMs: number | undefined;
  /** The answer ends when the process has started, and the process continues. */
  readonly background: boolean;
}

/** Runs a process and sends its output as events. A process in the foreground ends with the connection. */
export async function streamToClient(call: ExecdCall, spec: ProcessSpec): Promise<void> {
  const { commands, cwd, variables, user, timeoutMs, background } = spec;
  const { context, target, signal } = call;
  const config = {
    cwd,
    envVars: variables,
    ...(user !== undefined && { user }),
    ...(timeoutMs !== undefined && { timeout: `${timeoutMs / 1000}s` }),
  };
  for (const [index, command] of commands.entries()) {
    const start = { config: { ...config, command }, detach: background };
    try {
      return await relay(call, streamProcess(context.runtime, target, "Start", start, signal), background);
    } catch (error) {
      if (index === commands.length - 1 || !isMissing(error, command)) throw explained(error, cwd);
    }
  }
}

function isMissing(error: unknown, [program = ""]: readonly string[]): boolean {
  return error instanceof RpcError && error.message.startsWith(`Cannot start "${program}"`);
}

function explained(error: unknown, cwd: string): unknown {
  if (!(error instanceof RpcError) || !error.message.startsWith("Cannot enter")) return error;
  return invalidRequest(`cwd ${JSON.stringify(cwd)} does not exist or is not a directory`);
}

async function relay(call: ExecdCall, events: AsyncIterable<ProcessEvent>, background: boolean): Promise<void> {
  const { context, target, response, signal } = call;
  const lines = { stdout: new OutputLines(), stderr: new OutputLines() };
  let writer: EventWriter | undefined;
  const begun = performance.now();
  const finish = async (exit: ExitEvent): Promise<void> => {
    await writer?.send(endOf(exit, performance.now() - begun));
    writer?.end();
  };
  for await (const event of events) {
    const pid = event.init?.processId;
    if (pid !== undefined) {
      writer = new EventWriter(response, signal, { pings: false });
      await writer.send({ type: "init", text: String(pid) });
      // A process that has already ended needs no end of its input.
      const noInput = callProcess(context.runtime, target, "WriteStdin", { processId: pid, eof: {} });
      if (background) await noInput.catch(() => undefined);
      else noInput.catch(() => undefined);
    }
    if (background) return finish({});
    for (const type of ["stdout", "stderr"] as const) {
      const data = event[type];
      if (data === undefined) continue;
      for (const text of lines[type].push(Buffer.from(data, "base64"))) await writer?.send({ type, text });
    }
    if (event.exit === undefined) continue;
    for (const type of ["stdout", "stderr"] as const) {
      for (const text of lines[type].end()) await writer?.send({ type, text });
    }
    await finish(event.exit);
  }
}

/** The client takes the exit code from `evalue`. */
export function endOf(exit: ExitEvent, ms: number): { readonly type: string; readonly [field: string]: unknown } {
  const { exitCode = 0, signal, timedOut = false } = exit;
  if (exitCode === 0 && !timedOut) return { type: "execution_complete", execution_time: Math.round(ms) };
  const code = timedOut ? -1 : exitCode;
  const reason = timedOut
    ? "the time limit has passed"
    : signal === undefined
      ? `exit status ${code}`
      : `signal ${signal}`;
  return { type: "error", error: { ename: "CommandExecError", evalue: String(code), traceback: [reason] } };
}
