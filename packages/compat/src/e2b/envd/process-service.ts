import { endFlag, readFrames } from "../../connect/envelope.ts";
import { RpcError } from "../../connect/rpc-error.ts";
import { objectField, textField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import { chunksOf, type JsonObject, parseJsonObject } from "../../http/read-body.ts";
import { callProcess, type ProcessInfo, streamProcess } from "../../runtime/process-calls.ts";
import type { EnvdCall } from "./context.ts";
import { endOf, eventOf } from "./process-events.ts";
import { readProcessId, readSize } from "./process-request.ts";
import { requireSandbox } from "./require-sandbox.ts";
import { maxMessageBytes, type StreamMethod, type UnaryMethod } from "./rpc.ts";
import { timeLimitMs } from "./time-limit.ts";

type Listed = Pick<EnvdCall, "context" | "target" | "signal">;

/** An ended process stays known for this time. */
const knownMs = 30_000;

async function processes({ context, target, signal }: Listed): Promise<readonly ProcessInfo[]> {
  const { processes: all = [] } = await callProcess<{ processes?: ProcessInfo[] }>(
    context.runtime,
    target,
    "List",
    {},
    signal,
  );
  return all.filter(({ origin }) => origin === "start");
}

async function find(call: Listed, pid: number): Promise<ProcessInfo> {
  const found = (await processes(call)).find(({ processId }) => processId === pid);
  const isForgotten = found?.endedAt !== undefined && Date.now() - Date.parse(found.endedAt) > knownMs;
  if (found === undefined || isForgotten) throw new RpcError("not_found", `process with pid ${pid} not found`);
  return found;
}

async function findRunning(call: Listed, pid: number): Promise<ProcessInfo> {
  const found = await find(call, pid);
  if (found.exit !== undefined) throw new RpcError("not_found", `process with pid ${pid} has ended`);
  return found;
}

export const listProcesses: UnaryMethod = async (call) => {
  const running = (await processes(call)).filter(({ exit }) => exit === undefined);
  return {
    processes: running.map(({ processId, command = [], cwd }) => {
      const [cmd = "", ...args] = command;
      return { config: { cmd, args, envs: {}, ...(cwd !== undefined && { cwd }) }, pid: processId };
    }),
  };
};

/** Shows only output that is written from now on. */
export const connectProcess: StreamMethod = async (call, message, sink) => {
  const { context, target, signal, request } = call;
  const pid = readProcessId(message);
  const found = await find(call, pid);
  if (found.exit !== undefined) {
    await sink.send({ event: { start: { pid } } });
    await sink.send({ event: { end: endOf(found.exit) } });
    return;
  }
  const limitMs = timeLimitMs(request.headers["connect-timeout-ms"]);
  const limit = limitMs === undefined ? undefined : AbortSignal.timeout(limitMs);
  const attach = { processId: pid, fromOffset: found.nextOffset ?? "0", backpressure: true };
  const until = limit === undefined ? signal : AbortSignal.any([signal, limit]);
  try {
    for await (const event of streamProcess(context.runtime, target, "Attach", attach, until)) {
      requireSandbox(call, event);
      const shown = eventOf(event, found.pty === true);
      if (shown !== undefined) await sink.send(shown);
    }
  } catch (error) {
    if (limit?.aborted !== true) throw error;
    throw new RpcError("deadline_exceeded", "the time limit of the connection has passed", { cause: error });
  }
};

export const sendInput: UnaryMethod = async (call, message) => {
  await writeInput(call, readProcessId(message), objectField(message, "input") ?? {});
  return {};
};

async function writeInput({ context, target, signal }: Listed, pid: number, input: JsonObject): Promise<void> {
  const data = textField(input, "stdin") ?? textField(input, "pty");
  if (data === undefined) throw badRequest("input.stdin or input.pty is required");
  await asInput(callProcess(context.runtime, target, "WriteStdin", { processId: pid, input: data }, signal));
}

/** The client expects this code for a process whose input is closed. */
async function asInput(written: Promise<object>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== "failed_precondition") throw error;
    throw new RpcError("internal", "stdin not enabled or closed", { cause: error });
  }
}

/** `StreamInput`: one message that names the process, then messages with data. */
export async function streamInput(call: EnvdCall): Promise<object> {
  let pid: number | undefined;
  for await (const { flags, data } of readFrames(chunksOf(call.request), maxMessageBytes)) {
    if ((flags & endFlag) !== 0) break;
    const message = parseJsonObject(data);
    const start = objectField(message, "start");
    if (start !== undefined) pid = readProcessId(start);
    const input = objectField(objectField(message, "data") ?? {}, "input");
    if (input === undefined) continue;
    if (pid === undefined) throw badRequest("the first message must name the process");
    await writeInput(call, pid, input);
  }
  return {};
}

export const closeInput: UnaryMethod = async (call, message) => {
  const { context, target, signal } = call;
  const input = { processId: readProcessId(message), eof: {} };
  await asInput(callProcess(context.runtime, target, "WriteStdin", input, signal));
  return {};
};

const signals: ReadonlySet<string> = new Set(["SIGNAL_SIGKILL", "SIGNAL_SIGTERM"]);

export const sendSignal: UnaryMethod = async (call, message) => {
  const { context, target, signal } = call;
  const pid = readProcessId(message);
  const name = textField(message, "signal") ?? "";
  if (!signals.has(name)) throw new RpcError("unimplemented", `${name.slice(0, 64) || "no signal"} is not supported`);
  await findRunning(call, pid);
  const scope = "SIGNAL_SCOPE_TREE";
  await callProcess(context.runtime, target, "SendSignal", { processId: pid, signal: name, scope }, signal);
  return {};
};

export const updateProcess: UnaryMethod = async (call, message) => {
  const { context, target, signal } = call;
  const pid = readProcessId(message);
  const pty = objectField(message, "pty");
  if (pty !== undefined) {
    await callProcess(context.runtime, target, "ResizeTTY", { processId: pid, ...readSize(pty) }, signal);
  }
  return {};
};
