import type { IncomingMessage } from "node:http";
import { badRequest, HttpError } from "./http-error.ts";

/** Reads a whole body of limited size. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(request)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new HttpError(413, `The request body has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRequest("The request body is not valid JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest("The request body must be a JSON object");
  }
  return value as JsonObject;
}
