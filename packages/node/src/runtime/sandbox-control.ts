import { Socket } from "node:net";
import { hasCode, messageOf, NodeError } from "../errors.ts";
import { sendUnixMessage } from "../system/unix-message.ts";

/**
 * A call of a method of a sandbox's control server, as `runsc` makes it (package urpc of gVisor). The request and the answer are one
 * JSON object each. Every start of `runsc` costs tens of milliseconds of CPU time, which a call on this socket does not.
 */
export interface ControlCall {
  /** The path of the control socket. */
  readonly socket: string;
  readonly method: string;
  readonly argument?: object;
  /** Open files for the method. The caller closes them. */
  readonly descriptors?: readonly number[];
  /** Infinity for a method that waits. */
  readonly timeoutMs: number;
  /** Ends the wait for the answer. The method may go on. */
  readonly signal?: AbortSignal;
}

/** Thrown if the sandbox does not exist, or ended before it answered. */
export class SandboxGone extends NodeError {}

/** Thrown if the method failed. */
export class SandboxRefused extends NodeError {
  /** The sandbox's message alone. */
  readonly why: string;

  constructor({ method }: ControlCall, why: string) {
    super("RunContainerError", `Cannot call "${method}" of the sandbox: ${why}`);
    this.why = why;
  }
}

/** The sandbox runs the tenant's code, so its answer may be anything. */
const answerLimit = 64 * 1024;
const messageLength = 1024;

/** ECONNREFUSED: the socket's file outlives a sandbox that was killed. */
const goneCodes = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"];

/** Calls a method and returns its result, which may be anything. Throws `SandboxRefused` if the method fails. */
export async function callSandbox(call: ControlCall): Promise<unknown> {
  const { success, err, result } = parseAnswer(await exchange(call), call);
  if (success === true) return result;
  throw new SandboxRefused(call, typeof err === "string" && err !== "" ? oneLine(err) : "it gave no reason");
}

async function exchange(call: ControlCall): Promise<string> {
  const { method, argument = null, descriptors = [], timeoutMs, signal } = call;
  signal?.throwIfAborted();
  const socket = new Socket({ fd: connect(call, JSON.stringify({ method, arg: argument }), descriptors) });
  const late = (): Socket => socket.destroy(failure(call, `no answer within ${timeoutMs} ms`));
  const timer = Number.isFinite(timeoutMs) ? setTimeout(late, timeoutMs) : undefined;
  const abort = (): Socket => socket.destroy(failure(call, "the wait for its answer was ended"));
  signal?.addEventListener("abort", abort, { once: true });
  try {
    let answer = "";
    for await (const part of socket.setEncoding("utf8")) {
      answer += String(part);
      if (answer.length > answerLimit) throw failure(call, `its answer is longer than ${answerLimit} bytes`);
    }
    return answer;
  } catch (error) {
    throw hasCode(error, ...goneCodes) ? gone(call) : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    socket.destroy();
  }
}

function connect(call: ControlCall, message: string, descriptors: readonly number[]): number {
  try {
    return sendUnixMessage(call.socket, Buffer.from(message), descriptors);
  } catch (error) {
    if (hasCode(error, ...goneCodes)) throw gone(call);
    throw failure(call, messageOf(error));
  }
}

interface Answer {
  readonly success?: unknown;
  readonly err?: unknown;
  readonly result?: unknown;
}

function parseAnswer(text: string, call: ControlCall): Answer {
  if (text === "") throw gone(call);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Reported below.
  }
  throw failure(call, "its answer is not a JSON object");
}

function gone({ method }: ControlCall): SandboxGone {
  return new SandboxGone("RunContainerError", `Cannot call "${method}" of the sandbox: it is not running`);
}

function failure({ method }: ControlCall, why: string): NodeError {
  return new NodeError("RunContainerError", `Cannot call "${method}" of the sandbox: ${why}`);
}

/** Fit for an event or a log line. */
function oneLine(text: string): string {
  return text
    .slice(0, messageLength)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
}
