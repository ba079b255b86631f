import type { ServerResponse } from "node:http";
import { grpcStatusOf, type RouterError } from "../router-error.ts";

/** Tells for code what `detail` tells for people, on every answer of the router's own. */
export const reasonHeader = "x-sandbox-reason";

export interface ErrorContext {
  readonly requestId: string;
  readonly isGrpc: boolean;
}

/** Answers with an error, or breaks off an answer that has begun: half of one must not look whole. */
export function sendError(response: ServerResponse, error: RouterError, { requestId, isGrpc }: ErrorContext): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const headers = { [reasonHeader]: error.reason, "x-request-id": requestId };
  if (isGrpc) {
    // A gRPC client reads trailers, and takes an HTTP error for a broken proxy.
    const message = encodeURIComponent(error.message);
    const status = String(grpcStatusOf(error.reason));
    response.writeHead(200, {
      ...headers,
      "content-type": "application/grpc",
      "grpc-status": status,
      "grpc-message": message,
    });
    response.end();
    return;
  }
  const retry = error.retryAfterSeconds === undefined ? {} : { "retry-after": String(error.retryAfterSeconds) };
  const body = Buffer.from(error.body);
  const kind = { "content-type": "application/json", "content-length": body.length };
  response.writeHead(error.status, { ...headers, ...retry, ...kind });
  response.end(body);
}

/** An error as bytes, for a connection that has no response object (yet, or any more). */
export function errorBytes(error: RouterError): Buffer {
  const head = [
    `HTTP/1.1 ${error.status} ${error.reason}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(error.body)}`,
    `${reasonHeader}: ${error.reason}`,
    "connection: close",
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${error.body}`);
}
