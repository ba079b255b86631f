import { encodeFrame, endFlag, readFrames } from "../connect/envelope.ts";
import { isRpcCode, RpcError } from "../connect/rpc-error.ts";
import { readBody } from "../http/read-body.ts";
import { keepAliveSeconds, type Runtime, rpcPort, type Target } from "./runtime.ts";

/** An event of a process, as sandboxd sends it. Bytes are base64. */
export interface ProcessEvent {
  readonly init?: { readonly processId: number };
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exit?: ExitEvent;
  /** Output that was no longer kept when it was to be sent. */
  readonly gap?: { readonly lostBytes?: string };
}

export interface ExitEvent {
  readonly exitCode?: number;
  readonly signal?: number;
  readonly timedOut?: boolean;
}

export interface ProcessInfo {
  readonly processId: number;
  readonly command?: readonly string[];
  readonly cwd?: string;
  readonly origin?: string;
  readonly exit?: ExitEvent;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly firstOffset?: string;
  readonly nextOffset?: string;
  readonly pty?: boolean;
}

interface Failure {
  readonly code?: string;
  readonly message?: string;
}

const service = "/process.v1.ProcessService";
const maxMessageBytes = 16 * 1024 * 1024;

/** Calls a method of sandboxd's process service. */
export async function callProcess<T>(
  runtime: Runtime,
  target: Target,
  method: string,
  message: object,
  signal?: AbortSignal,
): Promise<T> {
  const answer = await runtime.send(target, {
    port: rpcPort,
    method: "POST",
    path: `${service}/${method}`,
    headers: { "content-type": "application/json", "connect-protocol-version": "1" },
    body: JSON.stringify(message),
    ...(signal && { signal }),
  });
  const text = (await readBody(answer, maxMessageBytes)).toString("utf8");
  const value = JSON.parse(text) as T & Failure;
  if (answer.statusCode !== 200) throw errorOf(value);
  return value;
}

/** Calls a method that streams events. Ends without an error only if the stream is complete. A silent process is kept alive. */
export async function* streamProcess(
  runtime: Runtime,
  target: Target,
  method: "Start" | "Attach",
  message: object,
  signal: AbortSignal,
): AsyncGenerator<ProcessEvent> {
  const answer = await runtime.send(target, {
    port: rpcPort,
    method: "POST",
    path: `${service}/${method}`,
    headers: {
      "content-type": "application/connect+json",
      "connect-protocol-version": "1",
      "keepalive-ping-interval": String(keepAliveSeconds),
    },
    body: encodeFrame(message),
    signal,
  });
  if (answer.statusCode !== 200) {
    const text = (await readBody(answer, maxMessageBytes)).toString("utf8");
    throw errorOf(JSON.parse(text) as Failure);
  }
  for await (const { flags, data } of readFrames(answer, maxMessageBytes)) {
    const value = JSON.parse(data.toString("utf8")) as ProcessEvent & { readonly error?: Failure };
    if ((flags & endFlag) === 0) {
      if (Object.keys(value).length > 0) yield value;
      continue;
    }
    if (value.error !== undefined) throw errorOf(value.error);
    return;
  }
  throw new RpcError("unavailable", "The connection to the sandbox was lost");
}

function errorOf({ code, message }: Failure): RpcError {
  return new RpcError(isRpcCode(code) ? code : "internal", message ?? "The sandbox answered with an error");
}
