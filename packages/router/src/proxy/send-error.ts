import { grpcStatusOf, type RouterError } from "../router-error.ts";
import { type Answer, answerWhole } from "./answer.ts";

/** Tells for code what `detail` tells for people, on every answer of the router's own. */
const reasonHeader = "x-sandbox-reason";

/** Answers with an error, or breaks off an answer that has begun: half of one must not look whole. */
export function sendError(answer: Answer, error: RouterError, requestId: string): void {
  if (answer.hasBegun) return answer.destroy();
  const retry = error.retryAfterSeconds === undefined ? [] : ["retry-after", String(error.retryAfterSeconds)];
  const headers = [reasonHeader, error.reason, "x-request-id", requestId, ...retry, "content-type", "application/json"];
  answerWhole(answer, { status: error.status, headers, body: error.body });
}

/** The same for gRPC: its clients read trailers, and take an HTTP error for a broken proxy. */
export function sendGrpcError(answer: Answer, error: RouterError, requestId: string): void {
  if (answer.hasBegun) return answer.destroy();
  const headers = [reasonHeader, error.reason, "x-request-id", requestId, "content-type", "application/grpc"];
  const status = Object.entries(grpcTrailers(error)).flat();
  answer.begin({ status: 200, headers: [...headers, ...status], body: "none" });
  answer.end();
}

export function grpcTrailers({ reason, message }: RouterError): Record<string, string> {
  return { "grpc-status": String(grpcStatusOf(reason)), "grpc-message": encodeURIComponent(message) };
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
