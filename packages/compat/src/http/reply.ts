import type { ServerResponse } from "node:http";
import type { HttpError } from "./http-error.ts";

/** Sends a JSON body with its length. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { ...headers, "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

/** Sends a response without a body. With 204 there is no length; some clients try to parse a body that has none. */
export function sendEmpty(response: ServerResponse, status: number): void {
  response.writeHead(status, status === 204 ? {} : { "content-length": 0 });
  response.end();
}

/** A response that has begun is aborted, so that the client does not take it as complete. */
export function sendError(response: ServerResponse, error: HttpError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // A body that is still on its way would be in front of the next request.
  const close = response.req.complete ? {} : { connection: "close" };
  sendJson(response, error.status, error.body, { ...error.headers, ...close });
}
