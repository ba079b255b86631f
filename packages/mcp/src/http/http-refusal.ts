import type { ServerResponse } from "node:http";

/** An answer to a request that is not passed to the protocol. The client gets the message. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    options: { headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = status;
    this.headers = options.headers ?? {};
  }
}

/** The code that the protocol leaves to servers. */
const serverError = -32_000;

/** What the client still sends of its body is left to the listener. */
export function sendRefusal(response: ServerResponse, { status, message, headers }: HttpRefusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendJson(response, status, { jsonrpc: "2.0", error: { code: serverError, message }, id: null }, headers);
}

/** No cache may keep an answer, and no browser may take it as a page. */
export const commonHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

export function sendJson(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    ...commonHeaders,
    ...headers,
    "content-type": "application/json",
    "content-length": body.length,
  });
  response.end(body);
}
