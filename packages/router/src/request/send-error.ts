import { grpcStatusOf, type RouterError } from "../router-error.ts";
import { type ResponseWriter, sendResponse } from "./response-writer.ts";

/** A machine-readable reason, on every response that the router itself generates. Sandboxes cannot set it. */
export const reasonHeader = "x-sandbox-reason";

/** Sends an error response. A response that has begun is aborted instead, so that the client does not take it as complete. */
export function sendError(response: ResponseWriter, error: RouterError, requestId: string): void {
  if (response.hasBegun) return response.destroy();
  const retry = error.retryAfterSeconds === undefined ? [] : ["retry-after", String(error.retryAfterSeconds)];
  const headers = [reasonHeader, error.reason, "x-request-id", requestId, ...retry, "content-type", "application/json"];
  sendResponse(response, { status: error.status, headers, body: error.body });
}

/** The same for gRPC, whose clients expect the error in trailers. */
export function sendGrpcError(response: ResponseWriter, error: RouterError, requestId: string): void {
  if (response.hasBegun) return response.destroy();
  const headers = [reasonHeader, error.reason, "x-request-id", requestId, "content-type", "application/grpc"];
  const status = Object.entries(grpcTrailers(error)).flat();
  response.begin({ status: 200, headers: [...headers, ...status], body: "none" });
  response.end();
}

export function grpcTrailers({ reason, message }: RouterError): Record<string, string> {
  return { "grpc-status": String(grpcStatusOf(reason)), "grpc-message": encodeURIComponent(message) };
}

/** An error response as bytes, for a connection without a request that could be parsed. */
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
