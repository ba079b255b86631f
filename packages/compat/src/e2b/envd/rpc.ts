import type { IncomingMessage } from "node:http";
import { endFlag, FrameError, readFrames } from "../../connect/envelope.ts";
import { RpcError } from "../../connect/rpc-error.ts";
import { chunksOf, type JsonObject, limitTime, parseJsonObject, readBody } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { RouterRefusal } from "../../runtime/router-refusal.ts";
import type { EnvdCall } from "./context.ts";
import { EventStream, keepAliveMs } from "./event-stream.ts";
import { asRpcError } from "./rpc-failure.ts";

/** Clients send the standard input of a process in messages of any size. */
export const maxMessageBytes: number = 16 * 1024 * 1024;

export type UnaryMethod = (call: EnvdCall, message: JsonObject) => Promise<object>;

export interface Sink {
  send(message: object): Promise<void>;
}
export type StreamMethod = (call: EnvdCall, message: JsonObject, sink: Sink) => Promise<void>;

export async function serveUnary(call: EnvdCall, method: UnaryMethod): Promise<void> {
  const { request, response } = call;
  try {
    const message = parseJsonObject(await readBody(request, maxMessageBytes));
    sendJson(response, 200, await method(call, message));
  } catch (error) {
    if (error instanceof RouterRefusal) throw error;
    const failure = asRpcError(error);
    sendJson(response, failure.status, failure.body);
  }
}

/** Errors are in the last message, with status 200. */
export async function serveStream(call: EnvdCall, method: StreamMethod, keepAlive: object): Promise<void> {
  const { request, response, signal } = call;
  const everyMs = keepAliveMs(request.headers["keepalive-ping-interval"]);
  let stream: EventStream | undefined;
  // Begins with the first message, so that a refusal of the router can still be sent as one.
  const begin = (): EventStream => {
    stream ??= new EventStream(response, { everyMs, keepAlive });
    return stream;
  };
  try {
    const message = await readOnlyFrame(request);
    await method(call, message, { send: (event) => begin().send(event, signal) });
    begin().end();
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof RouterRefusal && stream === undefined) throw error;
    begin().end(error instanceof RouterRefusal ? lost(error) : asRpcError(error));
  } finally {
    stream?.[Symbol.dispose]();
  }
}

export function lost(refusal: RouterRefusal): RpcError {
  return new RpcError("unavailable", refusal.message, { cause: refusal });
}

async function readOnlyFrame(request: IncomingMessage): Promise<JsonObject> {
  using _limit = limitTime(request);
  for await (const { flags, data } of readFrames(chunksOf(request), maxMessageBytes)) {
    if ((flags & endFlag) !== 0) break;
    return parseJsonObject(data);
  }
  throw new FrameError("The request has no message");
}
