import type { IncomingMessage } from "node:http";
import { ByteQueue } from "./byte-queue.ts";
import { badRequest, HttpError } from "./http-error.ts";

/** A body that is read as a whole is small: whoever needs longer keeps memory for nothing. */
const bodyMs = 60_000;

/** Reads a whole body of limited size. The connection of a sender that is too slow is closed. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  using received = new ByteQueue();
  using _limit = limitTime(request);
  for await (const chunk of chunksOf(request)) {
    if (received.length + chunk.length > maxBytes) {
      throw new HttpError(413, `The request body has more than ${maxBytes} bytes`);
    }
    received.push(chunk);
  }
  return received.take();
}

/** Closes the connection unless the returned object is disposed in time. */
export function limitTime(request: IncomingMessage): Disposable {
  const timer = setTimeout(() => request.destroy(new HttpError(408, "The body did not arrive in time")), bodyMs);
  return { [Symbol.dispose]: () => clearTimeout(timer.unref()) };
}

/** Leaving the loop early does not destroy the connection, over which the answer is to be sent. */
export function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Reads a JSON object. An empty body is an empty object. */
export async function readJsonObject(request: IncomingMessage, maxBytes: number): Promise<JsonObject> {
  const bytes = await readBody(request, maxBytes);
  if (bytes.length === 0) return {};
  return parseJsonObject(bytes);
}

export function parseJsonObject(bytes: Buffer): JsonObject {
  const value = parseJson(bytes);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw badRequest("The request body must be a JSON object");
}

/** Reads a JSON array. */
export async function readJsonList(request: IncomingMessage, maxBytes: number): Promise<readonly unknown[]> {
  const value = parseJson(await readBody(request, maxBytes));
  if (Array.isArray(value)) return value;
  throw badRequest("The request body must be a JSON array");
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRequest("The request body is not valid JSON");
  }
}
